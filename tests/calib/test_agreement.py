"""Two models on the same faces, without labels."""

import json
from pathlib import Path

import numpy as np
import pytest

from calib.agreement import Flip, measure_agreement
from calib.drift import measure_drift
from calib.errors import RankotomError
from calib.intervals import share_interval
from calib.prediction_files import read_predictions

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
CLASSES = ("calm", "glad", "sad")
BEFORE = np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8], [0.5, 0.4, 0.1]])
AFTER = np.array([[0.9, 0.05, 0.05], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8], [0.4, 0.5, 0.1]])


def test_flips_are_counted_by_what_became_what() -> None:
    agreement = measure_agreement(BEFORE, AFTER, CLASSES)
    assert agreement.flip_rate == 0.5
    assert agreement.flips_interval == share_interval(2, 4)
    assert set(agreement.flips) == {Flip("glad", "calm", 1), Flip("calm", "glad", 1)}
    named = {emotion.name: emotion for emotion in agreement.emotions}
    assert (named["calm"].before, named["calm"].after, named["calm"].flipped) == (2, 2, 1)
    assert (named["sad"].before, named["sad"].after, named["sad"].flipped) == (1, 1, 0)


def test_the_most_common_flip_comes_first() -> None:
    before = np.repeat(BEFORE[[1, 0]], [1, 3], axis=0)
    after = np.repeat(BEFORE[[0, 2]], [1, 3], axis=0)
    flips = measure_agreement(before, after, CLASSES).flips
    assert flips == (Flip("calm", "sad", 3), Flip("glad", "calm", 1))


def test_confidence_and_distance_are_of_the_same_faces() -> None:
    agreement = measure_agreement(BEFORE, AFTER, CLASSES)
    assert agreement.reference_confidence == pytest.approx(0.675)
    assert agreement.candidate_confidence == pytest.approx(0.7)
    assert agreement.confidence_change == pytest.approx(0.025)
    assert agreement.distance == pytest.approx((0.1 + 0.4 + 0 + 0.1) / 4)
    assert (agreement.worst, agreement.worst_face) == (pytest.approx(0.4), 1)


def test_the_interval_of_the_change_is_paired() -> None:
    """Faces differ by far more than the two models do; only the latter counts."""
    random = np.random.default_rng(0)
    sure = random.uniform(0.4, 0.9, 500)
    less = sure - 0.05 + random.normal(0, 0.01, 500)
    rows = [np.column_stack([top, 1 - top]) for top in (sure, less)]
    agreement = measure_agreement(*rows, ("yes", "no"))
    assert agreement.confidence_interval.width < 0.02
    assert not agreement.confidence_interval.spans(0)


def test_its_numbers_are_those_of_the_drift_where_labels_are_known() -> None:
    before, after = (read_predictions(EXAMPLES / f"{name}.npz") for name in ("no-mirror", "fp32"))
    agreement = measure_agreement(before.probabilities, after.probabilities, before.classes)
    drift = measure_drift(before, after, resamples=200)
    assert agreement.flip_rate == pytest.approx(drift.flips.rate)
    assert agreement.confidence_change == pytest.approx(drift.confidence_shift.mean)


def test_a_model_agrees_with_itself() -> None:
    agreement = measure_agreement(BEFORE, BEFORE, CLASSES)
    assert (agreement.flips, agreement.distance, agreement.confidence_change) == ((), 0, 0)
    assert agreement.flips_interval.high > 0


def test_one_face_leaves_the_change_open() -> None:
    interval = measure_agreement(BEFORE[:1], AFTER[:1], CLASSES).confidence_interval
    assert (interval.low, interval.high) == (-1, 1)


def test_different_faces_are_refused() -> None:
    with pytest.raises(RankotomError, match=r"\(4, 3\) and \(3, 3\).*the same faces"):
        measure_agreement(BEFORE, AFTER[:3], CLASSES)


def test_the_json_says_that_nothing_was_compared_with_labels() -> None:
    saved = json.loads(json.dumps(measure_agreement(BEFORE, AFTER, CLASSES).as_json()))
    assert saved["n"] == 4
    assert saved["labelled"] is False
    assert saved["not_checked"] == ["accuracy", "ece"]
    assert saved["flips"]["rate"] == 0.5
    assert {"from": "glad", "to": "calm", "count": 1} in saved["flips"]["pairs"]
    assert saved["per_class"]["glad"] == {"before": 1, "after": 1, "flipped": 1}
    assert saved["distance"]["worst_face"] == 1
