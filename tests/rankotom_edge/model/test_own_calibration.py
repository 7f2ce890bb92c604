from __future__ import annotations

import json
import stat
from dataclasses import replace

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


def test_marks_and_budgets_come_from_the_user_s_own_faces(
    own_calibration: SavedCalibration, fp32: Artifact
) -> None:
    measured = own_calibration.measured_model(fp32.card)
    assert measured.evaluation.n == 150
    assert measured.evaluation.metrics["ece"] == own_calibration.trial.after.ece
    own, shipped = Reliability(measured.evaluation), Reliability(fp32.card.evaluation)
    assert own.at(0.9) != shipped.at(0.9)
    # Too few faces for the lower bars and for what holds with 95 % confidence.
    assert own.at(0.2, highest=False) is None
    assert ErrorBudget().set_rule(measured.evaluation) is None
    with pytest.raises(RankotomError, match="cannot guarantee"):
        ErrorBudget(overall=0.05).confidence_needed(measured.evaluation)


def test_an_expired_one_says_why(own_calibration: SavedCalibration, fp32: Artifact) -> None:
    save_calibration(own_calibration, fp32)
    expire_calibration(fp32, own_calibration, "light is low since 2026-11-18 10:42")
    found = find_calibration(fp32, "camera 0")
    assert found is not None
    assert found.expired == "light is low since 2026-11-18 10:42"


@pytest.mark.parametrize(
    "source", ["../../../etc/passwd", "rtsp://cam:554/a?b=1&c=2", "a\nb", "grüße", "x" * 5000]
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
        lambda saved: b" " * 2_000_000,
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
