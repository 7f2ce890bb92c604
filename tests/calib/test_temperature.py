import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calib.arrays import FloatArray
from calib.errors import RankotomError
from calib.metrics import nll
from calib.predictions import Predictions
from calib.temperature import BOUNDS, at_bound, fit_temperature, match_temperature, softmax

logit_rows = arrays(
    np.float64,
    st.tuples(st.integers(1, 20), st.integers(1, 9)),
    elements=st.one_of(st.floats(-1e6, 1e6), st.sampled_from([0.0, 1.0, 1 + 2**-52])),
)
temperatures = st.floats(*BOUNDS)


def test_softmax_divides_the_logits_by_the_temperature() -> None:
    expected = math.exp(1) / (math.exp(1) + 1)
    assert softmax([[2.0, 0.0]], temperature=2.0)[0] == pytest.approx([expected, 1 - expected])


def test_softmax_survives_huge_logits() -> None:
    assert softmax([[1e300, -1e300], [-1e9, -1e9]]).tolist() == [[1, 0], [0.5, 0.5]]


@given(arrays(np.float64, (6, 5), elements=st.floats(1e-6, 1)))
def test_temperature_one_changes_nothing(weights: FloatArray) -> None:
    probabilities = weights / weights.sum(axis=1, keepdims=True)
    unchanged = softmax(np.log(probabilities), temperature=1.0)
    assert np.allclose(unchanged, probabilities, rtol=1e-12, atol=0)


@given(logit_rows, temperatures)
def test_no_temperature_changes_the_predicted_class(logits: FloatArray, temperature: float) -> None:
    labels = np.zeros(len(logits), dtype=int)
    scaled = Predictions.from_logits(logits, labels, temperature=temperature)
    assert np.array_equal(scaled.predicted, logits.argmax(axis=1))
    winners = scaled.probabilities[np.arange(len(logits)), scaled.predicted]
    assert np.array_equal(winners, scaled.confidence)


@given(logit_rows, temperatures)
def test_softmax_rows_sum_to_one(logits: FloatArray, temperature: float) -> None:
    assert softmax(logits, temperature).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf])
def test_a_temperature_that_is_not_above_zero_is_refused(temperature: float) -> None:
    with pytest.raises(RankotomError, match="A temperature is a number above 0"):
        softmax([[1.0, 2.0]], temperature)


@pytest.mark.parametrize("distortion", [0.3, 1.0, 4.0])
def test_the_fit_undoes_a_known_temperature(distortion: float) -> None:
    generator = np.random.default_rng(4)
    logits = generator.normal(scale=2, size=(20_000, 6))
    drawn = softmax(logits).cumsum(axis=1) < generator.random((20_000, 1))
    labels = np.minimum(drawn.sum(axis=1), 5)
    assert fit_temperature(logits * distortion, labels) == pytest.approx(distortion, rel=0.05)


def test_the_fit_is_the_minimum_of_the_nll() -> None:
    generator = np.random.default_rng(6)
    logits, labels = generator.normal(size=(300, 4)), generator.integers(4, size=300)
    logits[np.arange(300), labels] += 1.5
    found = fit_temperature(logits, labels)
    best = nll(softmax(logits, found), labels)
    for other in np.geomspace(*BOUNDS, 400):
        assert best <= nll(softmax(logits, float(other)), labels) + 1e-12


def test_faces_that_are_all_right_give_the_lower_bound_and_say_so() -> None:
    found = fit_temperature([[3.0, 0.0], [0.0, 2.0]], [0, 1])
    assert found == BOUNDS[0]
    assert at_bound(found)


def test_faces_that_are_all_wrong_give_the_upper_bound() -> None:
    assert fit_temperature([[3.0, 0.0], [0.0, 2.0]], [1, 0]) == BOUNDS[1]


def test_logits_that_say_nothing_leave_the_temperature_at_one() -> None:
    found = fit_temperature(np.zeros((5, 8)), np.arange(5))
    assert found == 1
    assert not at_bound(found)


def test_huge_logits_can_be_fitted() -> None:
    assert math.isfinite(fit_temperature([[1e300, 0.0], [0.0, 1e300]], [0, 0]))


def test_bounds_that_hold_no_temperature_are_refused() -> None:
    with pytest.raises(RankotomError, match="bounds must be 0 < low < high, not 2 and 1"):
        fit_temperature([[1.0, 2.0]], [0], bounds=(2, 1))


def test_labels_of_another_length_are_refused() -> None:
    with pytest.raises(RankotomError, match="There are 1 predictions"):
        fit_temperature([[1.0, 2.0]], [0, 1])


@pytest.mark.parametrize("distortion", [0.3, 1.0, 4.0])
def test_the_match_finds_the_temperature_of_another_models_answers(distortion: float) -> None:
    logits = np.random.default_rng(4).normal(scale=2, size=(500, 6))
    found = match_temperature(logits * distortion, softmax(logits))
    assert found == pytest.approx(distortion, rel=1e-6)


def test_the_match_is_the_minimum_of_the_cross_entropy() -> None:
    generator = np.random.default_rng(6)
    logits = generator.normal(size=(300, 4))
    wanted = softmax(2 * logits + generator.normal(size=(300, 4)))

    def cross_entropy(temperature: float) -> float:
        return -float(np.mean((wanted * np.log(softmax(logits, temperature))).sum(axis=1)))

    found = match_temperature(logits, wanted)
    best = cross_entropy(found)
    assert not at_bound(found)
    for other in np.geomspace(0.1, 10, 400):
        assert best <= cross_entropy(float(other)) + 1e-12


@given(logit_rows)
def test_certain_answers_are_matched_as_labels_are_fitted(logits: FloatArray) -> None:
    labels = np.arange(len(logits)) % logits.shape[1]
    certain = np.eye(logits.shape[1])[labels]
    assert match_temperature(logits, certain) == fit_temperature(logits, labels)


def test_the_match_keeps_to_its_bounds_and_says_nothing_where_there_is_nothing_to_say() -> None:
    logits = np.random.default_rng(4).normal(size=(50, 3))
    assert match_temperature(logits, softmax(logits, 0.5), bounds=(0.8, 4)) == 0.8
    assert match_temperature(np.zeros((5, 8)), np.full((5, 8), 1 / 8)) == 1
    with pytest.raises(RankotomError, match="bounds must be 0 < low < high, not 0 and 1"):
        match_temperature(logits, softmax(logits), bounds=(0, 1))


def test_answers_for_other_faces_cannot_be_matched() -> None:
    with pytest.raises(RankotomError, match=r"have shape \(1, 2\), but the logits \(2, 2\)"):
        match_temperature([[1.0, 2.0], [0.0, 1.0]], [[0.5, 0.5]])
    with pytest.raises(RankotomError, match="do not sum to 1"):
        match_temperature([[1.0, 2.0]], [[1.0, 2.0]])
