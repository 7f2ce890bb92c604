"""The confidence that an error budget asks for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calib.errors import RankotomError
from calib.evaluation import Evaluation, evaluate
from calib.guarantees import guaranteed_threshold, next_budget
from calib.intervals import share_interval
from calib.metrics import Bin, reliability
from calib.prediction_files import read_predictions
from calib.predictions import Predictions
from rankotom_edge.model.artifact import embedded_models, read_artifact
from rankotom_edge.model.reliability import reliability_at
from rankotom_edge.readings.error_budget import ErrorBudget, confidence_needed

HELD_OUT = Path(__file__).parents[3] / "docs" / "examples" / "fp32.npz"


def bins_of(predictions: Predictions, rows: slice = slice(None)) -> tuple[Bin, ...]:
    return reliability(predictions.confidence[rows], predictions.correct[rows])


def calibrated_bins(too_sure_by: float = 0.0) -> tuple[Bin, ...]:
    """Fifteen bins of a hundred faces each, right as often as they say less ``too_sure_by``."""
    middles = (np.arange(15) + 0.5) / 15
    return tuple(
        Bin(middle - 0.5 / 15, middle + 0.5 / 15, 100, middle, middle - too_sure_by)
        for middle in middles.tolist()
    )


def with_last(**changes: float) -> tuple[Bin, ...]:
    *others, last = calibrated_bins()
    return (*others, replace(last, **changes))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def held_out() -> Predictions:
    return read_predictions(HELD_OUT)


@pytest.mark.parametrize("max_error", [0.5, 0.3, 0.2, 0.1, 0.05])
def test_a_calibrated_model_needs_what_the_budget_leaves(max_error: float) -> None:
    assert confidence_needed(calibrated_bins(), max_error) == pytest.approx(1 - max_error, abs=1e-6)


def test_an_overconfident_model_needs_more() -> None:
    assert confidence_needed(calibrated_bins(too_sure_by=0.1), 0.2) == pytest.approx(0.9)


def test_the_budget_is_kept_at_each_confidence_and_not_on_average_over_surer_faces() -> None:
    """However many easy faces there are, those at 60 % are wrong two times in five."""
    assert confidence_needed(with_last(count=100_000), 0.2) == pytest.approx(0.8, abs=1e-6)


def test_a_few_lucky_faces_promise_nothing() -> None:
    with pytest.raises(RankotomError, match="cannot be met"):
        confidence_needed(with_last(count=2, accuracy=1.0), 0.01)


@pytest.mark.parametrize("max_error", [0.5, 0.35, 0.2, 0.1])
def test_what_is_needed_is_the_lowest_confidence_that_is_reliable_enough(
    held_out: Predictions, max_error: float
) -> None:
    bins = bins_of(held_out)
    needed = confidence_needed(bins, max_error)
    below, at = reliability_at(bins, needed - 0.01), reliability_at(bins, needed)
    assert at == pytest.approx(1 - max_error, abs=1e-6)
    assert below is not None
    assert below < 1 - max_error


@pytest.mark.parametrize("max_error", [0.5, 0.2, 0.1])
def test_other_faces_at_the_confidence_needed_keep_the_budget(
    held_out: Predictions, max_error: float
) -> None:
    needed = confidence_needed(bins_of(held_out, slice(0, None, 2)), max_error)
    confidence, correct = held_out.confidence[1::2], held_out.correct[1::2]
    enough = np.flatnonzero(confidence >= needed)
    just = enough[np.argsort(confidence[enough])[:60]]  # the least sure of them
    wrong = share_interval(int(np.count_nonzero(~correct[just])), len(just))
    assert wrong.low <= max_error
    assert wrong.high < max_error + 0.2


def test_a_whole_budget_makes_nothing_unsure() -> None:
    assert confidence_needed(calibrated_bins(), 1.0) == 0


def test_a_budget_that_cannot_be_met_says_what_can() -> None:
    bins = with_last(accuracy=0.9512)
    with pytest.raises(RankotomError, match=r"1 % cannot be met.* 4\.9 % of the faces are still"):
        confidence_needed(bins, 0.01)
    assert confidence_needed(bins, 0.049) <= 1


@pytest.mark.parametrize("max_error", [-0.1, 1.5, 20, float("nan")])
def test_a_budget_beyond_0_to_100_per_cent_is_refused(max_error: float) -> None:
    with pytest.raises(RankotomError, match="between 0 % and 100 %"):
        confidence_needed(calibrated_bins(), max_error)


def test_a_model_without_a_reliability_table_says_so() -> None:
    for bins in ((), (Bin(0.0, 1.0, 0, None, None),)):
        with pytest.raises(RankotomError, match="no reliability table"):
            confidence_needed(bins, 0.2)


@pytest.mark.parametrize("name", embedded_models())
def test_the_embedded_models_can_keep_a_budget_of_half_and_of_a_tenth(name: str) -> None:
    bins = read_artifact(embedded_models()[name]).card.evaluation.reliability
    assert 0.3 < confidence_needed(bins, 0.5) < confidence_needed(bins, 0.1) < 0.97


@pytest.fixture(scope="module")
def measured(held_out: Predictions) -> Evaluation:
    return evaluate(held_out, resamples=10)


@pytest.mark.parametrize("overall", [0.03, 0.05, 0.1])
def test_a_budget_for_all_readings_asks_for_the_guaranteed_threshold(
    measured: Evaluation, overall: float
) -> None:
    found = guaranteed_threshold(measured.thresholds, overall)
    assert found is not None
    budget = ErrorBudget(each=0.5, overall=overall)
    assert budget.confidence_needed(measured) == found.confidence
    assert found.error_bound <= overall + 1e-6


def test_a_budget_that_all_faces_keep_leaves_the_one_for_each_reading(
    measured: Evaluation,
) -> None:
    """Rounded up to a threshold that was tested."""
    alone = ErrorBudget(each=0.4).confidence_needed(measured)
    both = ErrorBudget(each=0.4, overall=0.9).confidence_needed(measured)
    assert alone <= both < alone + 0.01
    assert round(100 * both, 6) == round(100 * both)


def test_a_budget_that_cannot_be_promised_names_one_that_can(measured: Evaluation) -> None:
    with pytest.raises(RankotomError, match=r"at most 0\.1 % cannot be promised") as error:
        ErrorBudget(overall=0.001).confidence_needed(measured)
    enough = next_budget(measured.thresholds, 0.001)
    assert enough is not None
    assert f"Allow {100 * enough:.0f} %." in str(error.value)
    assert ErrorBudget(overall=enough).confidence_needed(measured) < 1


def test_a_file_of_an_earlier_version_promises_nothing(measured: Evaluation) -> None:
    earlier = replace(measured, thresholds=(), set_masses=())
    assert ErrorBudget().confidence_needed(earlier) == ErrorBudget().confidence_needed(measured)
    assert ErrorBudget().set_rule(earlier) is None
    with pytest.raises(RankotomError, match="Export it again"):
        ErrorBudget(overall=0.1).confidence_needed(earlier)


def test_a_set_covers_what_the_budget_leaves_or_90_per_cent(measured: Evaluation) -> None:
    usual, strict = ErrorBudget().set_rule(measured), ErrorBudget(overall=0.05).set_rule(measured)
    assert usual is not None
    assert strict is not None
    assert (usual.coverage, strict.coverage) == (0.9, 0.95)
    assert usual.mass < strict.mass
    lowest, highest = (ErrorBudget(overall=each).set_rule(measured) for each in (0.8, 0.003))
    assert lowest is not None
    assert highest is not None
    assert (lowest.coverage, highest.coverage) == (0.5, 0.99)
