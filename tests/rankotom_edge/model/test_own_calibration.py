from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest

from calib.errors import RankotomError
from calib.temperature import softmax
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.own_calibration import (
    SavedCalibration,
    calibration_files,
    expire_calibration,
    find_calibration,
    labels_path,
    make_calibrations_folder,
    read_calibration,
    save_calibration,
)
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.error_budget import ErrorBudget

LATER = datetime(2026, 11, 19, 8, 0, tzinfo=timezone.utc)


def test_a_calibration_is_found_again_for_its_model_and_its_source_alone(
    own_calibration: SavedCalibration, fp32: Artifact
) -> None:
    path = save_calibration(own_calibration, fp32)
    found = find_calibration(fp32, "camera 0")
    assert found is not None
    assert found.as_json() == own_calibration.as_json()
    assert calibration_files() == [path]
    assert find_calibration(fp32, "camera 1") is None
    assert find_calibration(replace(fp32, sha256="0" * 64), "camera 0") is None


def test_it_is_private(own_calibration: SavedCalibration, fp32: Artifact) -> None:
    path = save_calibration(own_calibration, fp32)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_model_that_is_too_sure_becomes_less_sure(own_calibration: SavedCalibration) -> None:
    logits = np.array([[4.0, 1, 0, 0, 0, 0, 0, 0]])
    before, after = softmax(logits).max(), own_calibration.apply(logits).max()
    assert after < before - 0.1
    assert 1.5 < own_calibration.trial.calibration.temperature < 2.5


def test_few_own_faces_give_no_marks_and_their_confidence_is_taken_at_its_word(
    own_calibration: SavedCalibration, fp32: Artifact
) -> None:
    """Two groups of fifty faces would give bars of 95 % the mark of bars of 60 %."""
    measured = own_calibration.measured_model(fp32.card)
    assert measured.evaluation.n == 150
    assert measured.evaluation.metrics["ece"] == own_calibration.trial.after.ece
    marks = Reliability(measured.evaluation)
    assert [marks.at(share) for share in (0.3, 0.6, 0.95)] == [None] * 3
    assert marks.at(0.2, highest=False) is None
    assert ErrorBudget(each=0.2).confidence_needed(measured.evaluation) == pytest.approx(0.8)
    assert ErrorBudget(each=0.001).confidence_needed(measured.evaluation) == pytest.approx(0.999)
    assert ErrorBudget().set_rule(measured.evaluation) is None


def test_many_own_faces_give_marks(own_calibration: SavedCalibration, fp32: Artifact) -> None:
    trial = own_calibration.trial
    bins = tuple(replace(each, count=10 * each.count) for each in trial.after.bins)
    many = replace(own_calibration, trial=replace(trial, after=replace(trial.after, bins=bins)))
    assert Reliability(many.measured_model(fp32.card).evaluation).at(0.95) is not None


def test_an_expired_one_says_why(own_calibration: SavedCalibration, fp32: Artifact) -> None:
    save_calibration(own_calibration, fp32)
    expire_calibration(fp32, own_calibration, "light is low since 2026-11-18 10:42", LATER)
    found = find_calibration(fp32, "camera 0")
    assert found is not None
    assert found.expired == "light is low since 2026-11-18 10:42"
    assert found.labels_since == LATER


def test_one_that_was_forgotten_or_made_again_meanwhile_does_not_expire(
    own_calibration: SavedCalibration, fp32: Artifact
) -> None:
    expire_calibration(fp32, own_calibration, "light is low", LATER)
    assert calibration_files() == []
    save_calibration(replace(own_calibration, created=LATER), fp32)
    expire_calibration(fp32, own_calibration, "light is low", LATER)
    found = find_calibration(fp32, "camera 0")
    assert found is not None
    assert found.expired is None


@pytest.mark.parametrize(
    "source",
    ["\udcff.mp4", "../../../etc/passwd", "rtsp://cam:554/a?b=1&c=2", "a\nb", "grüße", "x" * 5000],
)
def test_any_name_of_a_source_becomes_a_file_in_the_folder(
    source: str, own_calibration: SavedCalibration, fp32: Artifact
) -> None:
    path = save_calibration(replace(own_calibration, source=source), fp32)
    folder = make_calibrations_folder()
    assert path.resolve().parent == folder.resolve()
    assert labels_path(source, folder).parent == folder
    found = find_calibration(fp32, source)
    assert found is not None
    assert found.source == source


def test_two_long_names_with_the_same_start_are_not_confused(
    own_calibration: SavedCalibration, fp32: Artifact
) -> None:
    one, other = "x" * 500 + "1", "x" * 500 + "2"
    save_calibration(replace(own_calibration, source=one), fp32)
    assert find_calibration(fp32, other) is None
    folder = make_calibrations_folder()
    assert labels_path(one, folder) != labels_path(other, folder)


@pytest.mark.parametrize(
    "damage",
    [
        lambda saved: b"\xff",
        lambda saved: b"[" * 100_000,
        lambda saved: b"[]",
        lambda saved: json.dumps(saved | {"format": 2}).encode(),
        lambda saved: json.dumps(saved | {"created": "yesterday"}).encode(),
        lambda saved: json.dumps(saved | {"usual": {"confidences": [1], "labels": [1]}}).encode(),
        lambda saved: json.dumps(saved | {"usual": {"confidences": [-1] * 15}}).encode(),
        lambda saved: json.dumps(saved | {"trial": {}}).encode(),
        lambda saved: json.dumps(saved).replace('"temperature": ', '"temperature": -').encode(),
        lambda saved: json.dumps(saved).replace('"offsets": []', '"offsets": [1]').encode(),
        lambda saved: json.dumps(saved).replace('"faces": 150', '"faces": 1e999').encode(),
    ],
)
def test_a_damaged_file_is_one_clear_error_that_says_how_to_remove_it(
    damage: object, own_calibration: SavedCalibration, fp32: Artifact
) -> None:
    path = save_calibration(own_calibration, fp32)
    assert callable(damage)
    path.write_bytes(damage(json.loads(path.read_text())))
    with pytest.raises(RankotomError, match="not as rankotom-edge writes it") as raised:
        read_calibration(path)
    assert str(path) in str(raised.value)
    assert len(str(raised.value)) < 800


def test_what_is_no_ordinary_file_or_too_large_is_no_calibration(tmp_path: Path) -> None:
    fifo, large = tmp_path / "fifo", tmp_path / "large"
    os.mkfifo(fifo)
    large.write_bytes(b" " * 2_000_000)
    for path in (fifo, large):
        with pytest.raises(RankotomError, match="Cannot read"):
            read_calibration(path)
