"""What is promised of new faces holds, and is what other libraries compute."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mapie.conformity_scores import NaiveConformityScore
from mapie.risk_control.fwer_control import control_fwer
from scipy import stats

from calib.guarantees import (
    CONFIDENCE,
    COVERAGES,
    Threshold,
    at_most,
    guaranteed_threshold,
    mass_for,
    next_budget,
    prediction_set,
    set_masses,
    summarise_sets,
    thresholds,
)
from calib.prediction_files import read_predictions
from calib.predictions import Predictions

HELD_OUT = Path(__file__).parents[2] / "docs" / "examples" / "fp32.npz"
TRIALS = 1000
# 1,000 trials of something that fails in 5 % of them: more than 7 % in fewer than 1 of 400 runs,
# and the seeds are fixed.
MOST_FAILURES = 0.07


@pytest.fixture(scope="module")
def measured() -> Predictions:
    return read_predictions(HELD_OUT)


@given(st.integers(1, 400), st.data(), st.floats(0.001, 0.999))
def test_the_binomial_is_scipys(count: int, data: st.DataObject, share: float) -> None:
    wrong = data.draw(st.integers(0, count))
    expected = stats.binom.cdf(wrong, count, share)
    assert at_most(wrong, count, share) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("wrong", "count"), [(0, 1), (0, 59), (3, 100), (40, 1789), (99, 100)])
def test_the_error_bound_is_clopper_and_pearsons(wrong: int, count: int) -> None:
    expected = stats.beta.ppf(CONFIDENCE, wrong + 1, count - wrong)
    assert Threshold(0.5, count, wrong).error_bound == pytest.approx(expected, abs=1e-6)


def test_where_all_or_no_faces_are_there_the_bound_is_one() -> None:
    assert Threshold(0.5, 10, 10).error_bound == 1
    assert Threshold(0.99, 0, 0).error_bound == 1


def test_a_threshold_counts_the_faces_at_or_above_it() -> None:
    found = {each.confidence: each for each in thresholds([0.995, 0.99, 0.5], [1, 0, 0])}
    assert (found[0.99].count, found[0.99].wrong) == (2, 1)
    assert (found[0.51].count, found[0.51].wrong) == (2, 1)
    assert (found[0.5].count, found[0.5].wrong) == (3, 2)
    assert len(found) == 100


@pytest.mark.parametrize("max_error", [0.02, 0.05, 0.1, 0.14, 0.3])
def test_the_order_of_tests_is_mapies_fixed_sequence(
    measured: Predictions, max_error: float
) -> None:
    steps = thresholds(measured.confidence, measured.correct)
    p_values = np.array([stats.binom.cdf(each.wrong, each.count, max_error) for each in steps])
    passed = control_fwer(p_values, 1 - CONFIDENCE, "fixed_sequence")
    found = guaranteed_threshold(steps, max_error)
    assert found == (steps[passed[-1]] if len(passed) else None)


def test_thresholds_with_too_few_faces_are_passed_over() -> None:
    """Of 58 faces without an error nobody knows whether 5 % would be wrong; of 59 one does."""
    few, enough = Threshold(0.9, 58, 0), Threshold(0.8, 59, 0)
    assert guaranteed_threshold([few], 0.05) is None
    assert guaranteed_threshold([few, enough], 0.05) is enough


def test_nothing_below_the_first_failure_is_promised() -> None:
    good, bad, lucky = Threshold(0.9, 500, 5), Threshold(0.8, 600, 60), Threshold(0.7, 5000, 61)
    assert guaranteed_threshold([good, bad, lucky], 0.05) is good


def test_the_next_budget_is_above_the_one_that_cannot_be_kept() -> None:
    """1 % can be kept and 1.5 % cannot: more faces are tested for a smaller budget."""
    steps = [Threshold(0.99, 200, 1), Threshold(0.98, 1000, 3)]
    assert guaranteed_threshold(steps, 0.01) is steps[1]
    assert guaranteed_threshold(steps, 0.015) is None
    enough = next_budget(steps, 0.015)
    assert enough is not None
    assert enough > 0.015
    assert guaranteed_threshold(steps, enough) is steps[1]
    assert next_budget([Threshold(0.5, 3, 3)], 0.1) is None


def test_a_threshold_that_must_not_be_lower_is_a_tested_one() -> None:
    steps = [Threshold(0.9, 500, 1), Threshold(0.8, 600, 2), Threshold(0.7, 700, 3)]
    assert guaranteed_threshold(steps, 0.1, at_least=0.75) is steps[1]
    assert guaranteed_threshold(steps, 0.1, at_least=0.8) is steps[1]
    assert guaranteed_threshold(steps, 0.1, at_least=0.95) is None


def test_a_budget_next_to_nothing_cannot_be_kept(measured: Predictions) -> None:
    steps = thresholds(measured.confidence, measured.correct)
    assert guaranteed_threshold(steps, 1e-17) is None


@pytest.mark.parametrize(("max_error", "faces"), [(0.05, 1789), (0.1, 1789), (0.1, 300)])
def test_the_budget_is_exceeded_in_at_most_five_of_a_hundred_calibrations(
    measured: Predictions, max_error: float, faces: int
) -> None:
    """The held-out faces are the world; a calibration draws from them."""
    random = np.random.default_rng(0)
    confidence, correct = measured.confidence, measured.correct
    exceeded = promised = 0
    for _ in range(TRIALS):
        drawn = random.integers(0, len(measured), faces)
        found = guaranteed_threshold(thresholds(confidence[drawn], correct[drawn]), max_error)
        if found is not None:
            promised += 1
            exceeded += 1 - correct[confidence >= found.confidence].mean() > max_error
    assert promised > 0.9 * TRIALS  # else there would be nothing to keep
    assert exceeded / TRIALS <= MOST_FAILURES


@pytest.mark.parametrize("mass", [0.3, 0.5, 0.9, 0.99])
def test_sets_of_a_mass_are_mapies(measured: Predictions, mass: float) -> None:
    rows = measured.probabilities[:200]
    other = NaiveConformityScore()
    other.quantiles_ = np.array([mass])
    expected = other.get_prediction_sets(
        rows[:, :, np.newaxis], np.zeros(1), np.array([1 - mass]), cv="prefit"
    )[:, :, 0]
    for row, members in zip(rows, expected, strict=True):
        assert set(prediction_set(row, mass)) == set(np.flatnonzero(members))


def test_a_set_names_the_likeliest_first_and_never_nothing() -> None:
    row = np.array([0.1, 0.5, 0.15, 0.25])
    assert prediction_set(row, 0.0).tolist() == [1]
    assert prediction_set(row, 0.75).tolist() == [1, 3]
    assert prediction_set(row, 0.76).tolist() == [1, 3, 2]
    assert prediction_set(row, 1.0).tolist() == [1, 3, 2, 0]
    assert prediction_set(np.array([1.0, 0.0, 0.0]), 1.0).tolist() == [0, 1, 2]


@pytest.mark.parametrize("rows", [np.full((2000, 8), 1 / 8), np.eye(8)[np.zeros(2000, int)]])
def test_tied_probabilities_keep_the_coverage(rows: np.ndarray) -> None:
    labels = np.random.default_rng(0).integers(0, 8, 2000)
    (found,) = summarise_sets(rows, labels, (0.9,))
    assert found.covered > 0.88


@pytest.mark.parametrize(("coverage", "faces"), [(0.8, 200), (0.9, 200), (0.95, 1000)])
def test_sets_hold_the_label_as_often_as_they_promise(
    measured: Predictions, coverage: float, faces: int
) -> None:
    random = np.random.default_rng(0)
    rows, labels, held = measured.probabilities, measured.labels, []
    for trial in range(300):
        drawn = random.integers(0, len(rows), faces)
        mass = mass_for(set_masses(rows[drawn], labels[drawn], seed=trial), coverage)
        assert mass is not None
        tried = random.integers(0, len(rows), 50)
        held += [labels[face] in prediction_set(rows[face], mass) for face in tried]
    assert np.mean(held) > coverage - 0.005


def test_more_coverage_needs_more_mass_and_few_faces_need_all(measured: Predictions) -> None:
    masses = set_masses(measured.probabilities, measured.labels)
    assert list(masses) == sorted(masses)
    assert all(0 <= mass <= 1 for mass in masses)
    few = set_masses(measured.probabilities[:9], measured.labels[:9])
    assert few[COVERAGES.index(0.95)] == 1
    assert mass_for(masses, 0.995) is None
    assert mass_for(masses, 0.2) == masses[0]
    assert mass_for((), 0.9) is None


def test_the_sets_of_a_calibrated_model_are_measured_on_other_faces() -> None:
    random = np.random.default_rng(0)
    rows = random.dirichlet([0.3] * 8, 2000)
    labels = np.array([random.choice(8, p=row) for row in rows])
    for each in summarise_sets(rows, labels, (0.8, 0.9)):
        assert each.coverage - 0.02 < each.covered
        assert 1 < each.size < 4
    assert summarise_sets(rows[:1], labels[:1], (0.9,)) == ()
