"""How often a bar was right, and the confidence that an error budget asks for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from calib.errors import RankotomError
from calib.intervals import share_interval
from calib.metrics import reliability
from calib.prediction_files import read_predictions
from calib.predictions import Predictions
from rankotom_edge.model.artifact import embedded_models, read_artifact
from rankotom_edge.model.reliability import Reliability, confidence_needed, reliability_at

HELD_OUT = Path(__file__).parents[3] / "docs" / "examples" / "fp32.npz"


def bins_of(predictions: Predictions, rows: slice = slice(None)) -> list[dict[str, float | None]]:
    table = reliability(predictions.confidence[rows], predictions.correct[rows])
    return [vars(bin_) for bin_ in table]


def calibrated_bins(
    accuracies: dict[float, float] | None = None, count: int = 100
) -> list[dict[str, float]]:
    """Fifteen bins, right as often as they say but for the given ones, named by their middles."""
    middles = (np.arange(15) + 0.5) / 15
    return [
        {
            "low": middle - 0.5 / 15,
            "high": middle + 0.5 / 15,
            "count": count,
            "confidence": middle,
            "accuracy": (accuracies or {}).get(round(middle, 2), middle),
        }
        for middle in middles.tolist()
    ]


@pytest.fixture(scope="module")
def held_out() -> Predictions:
    return read_predictions(HELD_OUT)


@pytest.mark.parametrize("max_error", [0.5, 0.3, 0.2, 0.1, 0.05])
def test_a_calibrated_model_needs_what_the_budget_leaves(max_error: float) -> None:
    assert confidence_needed(calibrated_bins(), max_error) == pytest.approx(1 - max_error, abs=1e-6)


def test_an_overconfident_model_needs_more() -> None:
    bins = calibrated_bins()
    for bin_ in bins:
        bin_["accuracy"] -= 0.1
    assert confidence_needed(bins, 0.2) == pytest.approx(0.9)


def test_the_budget_is_kept_at_each_confidence_and_not_on_average_over_surer_faces() -> None:
    """However many easy faces there are, those at 60 % are wrong two times in five."""
    bins = calibrated_bins()
    bins[-1]["count"] = 100_000
    assert confidence_needed(bins, 0.2) == pytest.approx(0.8, abs=1e-6)


def test_a_few_lucky_faces_promise_nothing() -> None:
    bins = calibrated_bins()
    lucky = dict(bins[-1], count=2, accuracy=1.0)
    with pytest.raises(RankotomError, match="cannot be met"):
        confidence_needed([*bins[:-1], lucky], 0.01)


def test_a_dip_in_the_table_is_evened_out_as_isotonic_regression_does() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic")
    random = np.random.default_rng(0)
    bins = calibrated_bins()
    for bin_ in bins:
        bin_["count"] = int(random.integers(50, 500))
        bin_["accuracy"] = float(np.clip(bin_["confidence"] + random.normal(0, 0.1), 0, 1))
    fitted = isotonic.IsotonicRegression().fit_transform(
        [bin_["confidence"] for bin_ in bins],
        [bin_["accuracy"] for bin_ in bins],
        sample_weight=[bin_["count"] for bin_ in bins],
    )
    ours = [reliability_at(bins, bin_["confidence"]) for bin_ in bins]
    np.testing.assert_allclose(ours, fitted)


def test_reliability_never_falls_and_is_unknown_under_all_that_was_measured(
    held_out: Predictions,
) -> None:
    bins = bins_of(held_out)
    lowest = next(bin_["low"] for bin_ in bins if bin_["count"])
    known = [reliability_at(bins, confidence) for confidence in np.linspace(lowest, 1, 200)]
    assert reliability_at(bins, lowest - 0.001) is None
    assert known == sorted(known)
    assert reliability_at(bins, 1.0000001) == known[-1]


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
    bins = calibrated_bins({0.97: 0.9512})
    with pytest.raises(RankotomError, match=r"1 % cannot be met.* 4\.9 % of the faces are still"):
        confidence_needed(bins, 0.01)
    assert confidence_needed(bins, 0.049) <= 1


@pytest.mark.parametrize("max_error", [-0.1, 1.5, 20, float("nan")])
def test_a_budget_beyond_0_to_100_per_cent_is_refused(max_error: float) -> None:
    with pytest.raises(RankotomError, match="between 0 % and 100 %"):
        confidence_needed(calibrated_bins(), max_error)


def test_a_model_without_a_reliability_table_says_so() -> None:
    empty = [{"low": 0.0, "high": 1.0, "count": 0, "confidence": None, "accuracy": None}]
    for bins in ([], empty):
        with pytest.raises(RankotomError, match="no reliability table"):
            confidence_needed(bins, 0.2)


@pytest.mark.parametrize("name", embedded_models())
def test_the_embedded_models_can_keep_a_budget_of_half_and_of_a_tenth(name: str) -> None:
    bins = read_artifact(embedded_models()[name]).card.figures["bins"]
    assert 0.3 < confidence_needed(bins, 0.5) < confidence_needed(bins, 0.1) < 0.97


@pytest.mark.parametrize("name", embedded_models())
def test_the_embedded_models_know_what_each_bar_is_worth(name: str) -> None:
    """The lower bars are calibrated as well: within five points where fifty or more were counted,
    or within chance."""
    figures = read_artifact(embedded_models()[name]).card.figures
    worth = Reliability(figures)
    assert all(worth.at(share) is not None for share in (0.4, 0.7, 0.99))
    assert all(worth.at(share, highest=False) is not None for share in (0.0, 0.02, 0.3, 0.5))
    for bin_ in figures["other_bars"]:
        if bin_["count"] >= 50:
            right = round(bin_["accuracy"] * bin_["count"])
            chance = share_interval(right, bin_["count"])
            assert chance.low - 0.05 <= bin_["confidence"] <= chance.high + 0.05


def test_the_highest_bar_and_another_of_the_same_height_are_looked_up_apart() -> None:
    high, low = calibrated_bins(), calibrated_bins()
    for bin_ in low:
        bin_["accuracy"] /= 2
    worth = Reliability({"bins": high, "other_bars": low})
    assert worth.at(0.5) == pytest.approx(0.5, abs=1e-6)
    assert worth.at(0.5, highest=False) == pytest.approx(0.25, abs=1e-6)
    assert Reliability({"bins": high}).at(0.3, highest=False) is None
    assert Reliability({}).at(0.5) is None
