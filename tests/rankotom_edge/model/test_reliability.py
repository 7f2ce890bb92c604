"""How often the model was right at a given confidence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calib.errors import RankotomError
from calib.evaluation import Evaluation
from calib.intervals import share_interval
from calib.metrics import Bin, reliability
from calib.prediction_files import read_predictions
from rankotom_edge.model.artifact import embedded_models, read_artifact
from rankotom_edge.model.card import ModelCard
from rankotom_edge.model.reliability import Reliability, reliability_at, reliability_curve

HELD_OUT = Path(__file__).parents[3] / "docs" / "examples" / "fp32.npz"


def calibrated_bins(count: int = 100) -> tuple[Bin, ...]:
    """Fifteen bins that are right as often as they are confident."""
    middles = (np.arange(15) + 0.5) / 15
    return tuple(
        Bin(middle - 0.5 / 15, middle + 0.5 / 15, count, middle, middle)
        for middle in middles.tolist()
    )


def test_a_dip_in_the_table_is_evened_out_as_isotonic_regression_does() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic")
    random = np.random.default_rng(0)
    confidences = [bin_.confidence or 0.0 for bin_ in calibrated_bins()]
    bins = [
        replace(
            bin_,
            count=int(random.integers(50, 500)),
            accuracy=float(np.clip(confidence + random.normal(0, 0.1), 0, 1)),
        )
        for bin_, confidence in zip(calibrated_bins(), confidences, strict=True)
    ]
    fitted = isotonic.IsotonicRegression().fit_transform(
        confidences,
        [bin_.accuracy for bin_ in bins],
        sample_weight=[bin_.count for bin_ in bins],
    )
    np.testing.assert_allclose([reliability_at(bins, at) for at in confidences], fitted)


def test_reliability_never_falls_and_is_unknown_below_all_that_was_measured() -> None:
    held_out = read_predictions(HELD_OUT)
    bins = reliability(held_out.confidence, held_out.correct)
    lowest = next(bin_.low for bin_ in bins if bin_.count)
    known = [reliability_at(bins, confidence) for confidence in np.linspace(lowest, 1, 200)]
    assert reliability_at(bins, lowest - 0.001) is None
    assert known == sorted(known)
    assert reliability_at(bins, 1.0000001) == known[-1]


def test_bins_of_few_faces_are_merged_with_their_neighbours() -> None:
    """30 + 30 and 30 + 30 faces, and the last 30 with those before them."""
    knots = reliability_curve(calibrated_bins(count=30)[10:])[1:-1]
    assert len(knots) == 2


def test_a_model_without_a_reliability_table_has_no_curve() -> None:
    for bins in ((), (Bin(0.0, 1.0, 0, None, None),)):
        with pytest.raises(RankotomError, match="no reliability table"):
            reliability_curve(bins)


@pytest.mark.parametrize("name", embedded_models())
def test_the_embedded_models_know_what_each_bar_is_worth(name: str) -> None:
    """The lower bars are calibrated as well: within five points where fifty or more were counted,
    or within chance."""
    evaluation = read_artifact(embedded_models()[name]).card.evaluation
    worth = Reliability(evaluation)
    assert all(worth.at(share) is not None for share in (0.4, 0.7, 0.99))
    assert all(worth.at(share, highest=False) is not None for share in (0.0, 0.02, 0.3, 0.5))
    for bin_ in evaluation.other_bars:
        if bin_.count >= 50:
            assert bin_.accuracy is not None
            assert bin_.confidence is not None
            chance = share_interval(round(bin_.accuracy * bin_.count), bin_.count)
            assert chance.low - 0.05 <= bin_.confidence <= chance.high + 0.05


def test_the_highest_bar_and_another_of_the_same_height_are_looked_up_apart(
    tiny_card: ModelCard,
) -> None:
    high = calibrated_bins()
    low = tuple(replace(bin_, accuracy=(bin_.accuracy or 0) / 2) for bin_ in high)
    empty: Evaluation = tiny_card.evaluation
    worth = Reliability(replace(empty, reliability=high, other_bars=low))
    assert worth.at(0.5) == pytest.approx(0.5, abs=1e-6)
    assert worth.at(0.5, highest=False) == pytest.approx(0.25, abs=1e-6)
    assert Reliability(replace(empty, reliability=high)).at(0.3, highest=False) is None
    assert Reliability(empty).at(0.5) is None
