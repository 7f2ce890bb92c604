import json
import math

import numpy as np
import pytest

from calib.arrays import FloatArray
from calib.own_calibration import OwnCalibration, fit_calibration
from calib.rater import vote_likelihoods
from calib.temperature import softmax


def draw(logits: FloatArray, temperature: float, offsets: FloatArray, seed: int = 0) -> FloatArray:
    """Ten votes of each face, all for the label that was drawn from the true probabilities."""
    random = np.random.default_rng(seed)
    truth = [random.choice(8, p=row) for row in softmax((logits + offsets) / temperature)]
    return 10.0 * np.eye(8)[truth]


def test_as_shipped_it_is_the_softmax() -> None:
    logits = np.random.default_rng(0).normal(0, 2, (5, 8))
    assert OwnCalibration().apply(logits) == pytest.approx(softmax(logits))


def test_offsets_are_added_before_the_temperature_divides() -> None:
    logits = np.array([1.0, 2.0, 4.0])
    calibrated = OwnCalibration(2.0, (1.0, 0.0, -1.0)).apply(logits)
    assert calibrated == pytest.approx(softmax([[1.0, 1.0, 1.5]])[0])


def test_a_frame_without_faces_gives_no_probabilities() -> None:
    assert OwnCalibration(1.2).apply(np.empty((0, 8), np.float32)).shape == (0, 8)


def test_logits_beyond_any_exponential_are_a_certainty() -> None:
    assert OwnCalibration(0.05).apply(np.array([1e5, 0.0])).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("temperature", [0.8, 1.5])
def test_many_labels_recover_the_temperature(temperature: float) -> None:
    logits = np.random.default_rng(1).normal(0, 2, (3000, 8))
    votes = draw(logits, temperature, np.zeros(8))
    fitted = fit_calibration(logits, vote_likelihoods(votes))
    assert fitted.temperature == pytest.approx(temperature, rel=0.06)
    assert fitted.offsets == ()


def test_many_labels_recover_temperature_and_offsets() -> None:
    logits = np.random.default_rng(1).normal(0, 2, (4000, 8))
    offsets = np.array([0.8, 0.0, 0.0, -0.8, 0.0, 0.0, 0.0, 0.0])
    fitted = fit_calibration(logits, vote_likelihoods(draw(logits, 1.3, offsets)), offsets=True)
    assert fitted.temperature == pytest.approx(1.3, rel=0.08)
    assert np.array(fitted.offsets) == pytest.approx(offsets, abs=0.25)
    assert sum(fitted.offsets) == pytest.approx(0)


def test_the_fit_is_the_most_probable_of_all_temperatures() -> None:
    logits = np.random.default_rng(2).normal(0, 2, (40, 8))
    likelihoods = vote_likelihoods(draw(logits, 2.0, np.zeros(8)))

    def goal(temperature: float) -> float:
        mixed = (softmax(logits, temperature) * likelihoods).sum(axis=1)
        return float(np.log(mixed).sum() - 0.5 * (math.log(temperature) / 0.3) ** 2)

    fitted = fit_calibration(logits, likelihoods).temperature
    tried = [goal(math.exp(each)) for each in np.linspace(-1, 1, 2001)]
    assert goal(fitted) >= max(tried) - 1e-6


def test_labels_move_it_more_the_more_independent_faces_they_are_worth() -> None:
    logits = np.random.default_rng(3).normal(0, 2, (20, 8))
    likelihoods = vote_likelihoods(draw(logits, 1.6, np.zeros(8)))
    moved = [
        abs(math.log(fit_calibration(logits, likelihoods, weight).temperature))
        for weight in (0.01, 0.3, 1.0, 20.0)
    ]
    assert moved == sorted(moved)
    assert moved[0] < 0.02


def test_equal_logits_leave_the_temperature_alone() -> None:
    fitted = fit_calibration(np.zeros((30, 8)), vote_likelihoods(np.eye(8)[[1] * 30]))
    assert fitted.temperature == pytest.approx(1)


def test_json_gives_the_same_calibration_back() -> None:
    saved = OwnCalibration(1.25, (0.5, -0.5))
    assert OwnCalibration.from_json(json.loads(json.dumps(saved.as_json()))) == saved


@pytest.mark.parametrize(
    "hostile",
    [
        None,
        [],
        "1.2",
        {},
        {"temperature": 0},
        {"temperature": -1.0},
        {"temperature": 1e9},
        {"temperature": float("nan")},
        {"temperature": "1"},
        {"temperature": 10**400},
        {"temperature": 1.0, "offsets": {"a": 1}},
        {"temperature": 1.0, "offsets": [None]},
        {"temperature": 1.0, "offsets": [float("inf")]},
        {"temperature": 1.0, "offsets": [1e308]},
        {"temperature": 1.0, "offsets": [0.0] * 100_000},
    ],
)
def test_hostile_json_is_a_value_error(hostile: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        OwnCalibration.from_json(hostile)
