"""How far a figure can be trusted: intervals by bootstrap, and the floor of perfect calibration.

A calibration error is never 0 on a finite sample, not even for a perfectly calibrated model, and
a resample, which repeats faces, makes it larger still. So an interval here is the spread of the
resamples moved to where the measured figure is, and tells where the figure lies on average over
samples of this size; what part of that is noise alone, the floor tells. In a simulation (1,000
faces, 200 samples) 95 % intervals held that average in 93 to 99 % of the samples, but in 72 to
85 % for MCE over all bins, which hangs on the emptiest of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calib.arrays import BoolArray, FloatArray, IntArray, as_confidence
from calib.blends import compound_faces, pair_matches
from calib.errors import RankotomError
from calib.metrics import (
    BINS,
    bin_of,
    equal_mass_gaps,
    squared_distance,
    surprisal,
    tie_ends,
)
from calib.predictions import Predictions

RESAMPLES = 1000
# A bin below this can be set by two faces: the floor of MCE over all bins is 28 to 40 % on
# FERPlus (facts/machine.md), and says nothing.
LARGE_BIN = 50
# Resamples are drawn in blocks of this many faces, about 32 MB of weights.
BLOCK = 4_000_000
LEVEL = (0.025, 0.975)
CEILINGS = {"nll": float("inf"), "brier": 2.0}


@dataclass(frozen=True)
class Interval:
    """A 95 % confidence interval."""

    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low

    def spans(self, value: float) -> bool:
        return self.low < value < self.high


@dataclass(frozen=True)
class Floor:
    """What a perfectly calibrated model with the same confidences would show."""

    mean: float
    p95: float


def bootstrap(
    predictions: Predictions, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Interval]:
    """The 95 % interval of each metric: faces drawn with replacement, ``resamples`` times.

    ``mce50`` is there when a bin holds 50 faces, ``top2_match`` when votes make a compound. A
    resample keeps the bins that ``mce50`` judged in the sample.
    """
    sheet = _Sheet.of(predictions)
    spreads = _spreads(
        lambda weights: _statistics(sheet, weights), len(predictions), resamples, seed
    )
    return {
        name: Interval(max(spread.low, 0.0), min(spread.high, CEILINGS.get(name, 1.0)))
        for name, spread in spreads.items()
    }


def paired_bootstrap(
    reference: Predictions, candidate: Predictions, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Interval]:
    """The 95 % interval of candidate - reference, both measured on the same resampled faces.

    What both models owe to the faces drawn cancels, so the interval is narrower than two single
    ones would suggest. ``flips`` is the interval of the flip rate itself.
    """
    check_same_faces(reference, candidate)
    before, after = _Sheet.of(reference), _Sheet.of(candidate)
    flipped = (reference.predicted != candidate.predicted).astype(np.float64)

    def compare(weights: FloatArray) -> dict[str, FloatArray]:
        old, new = _statistics(before, weights), _statistics(after, weights)
        changes = {name: new[name] - old[name] for name in new if name in old}
        return {**changes, "flips": weights @ flipped / len(flipped)}

    spreads = _spreads(compare, len(reference), resamples, seed)
    flips = spreads["flips"]
    return {**spreads, "flips": Interval(max(flips.low, 0.0), min(flips.high, 1.0))}


def floor(confidence: ArrayLike, resamples: int = RESAMPLES, seed: int = 0) -> dict[str, Floor]:
    """ECE, AECE and MCE of a model that is right with exactly the probability it claims.

    Whether each face is right is drawn from its confidence, ``resamples`` times. A measured
    figure under the 95th percentile is consistent with perfect calibration.
    """
    sure = np.sort(as_confidence(confidence))
    generator = np.random.default_rng(seed)
    membership, large = _membership(sure)
    counts = membership.sum(axis=0)
    ends = tie_ends(sure)
    ones = np.ones(len(sure))

    def draw(rows: int) -> dict[str, FloatArray]:
        gaps = (generator.random((rows, len(sure))) < sure) - sure
        adaptive = [np.abs(equal_mass_gaps(ones, row, ends, BINS)).sum() for row in gaps]
        return {
            "aece": np.array(adaptive) / len(sure),
            **_equal_width_errors(counts, gaps @ membership, large, len(sure)),
        }

    draws = _joined(draw(rows) for rows in _blocks(resamples, len(sure)))
    return {
        name: Floor(mean=float(values.mean()), p95=float(np.quantile(values, 0.95)))
        for name, values in draws.items()
    }


def check_same_faces(reference: Predictions, candidate: Predictions) -> None:
    if len(reference) != len(candidate):
        raise RankotomError(
            f"The two sets of predictions are of {len(reference):,} and {len(candidate):,} faces. "
            "Compare two models on the same faces, in the same order."
        )
    if reference.classes != candidate.classes:
        raise RankotomError(
            f"The two models name different classes: {', '.join(reference.classes)} and "
            f"{', '.join(candidate.classes)}."
        )
    differ = reference.labels != candidate.labels
    if differ.any():
        raise RankotomError(
            f"The labels of the two sets differ in {np.count_nonzero(differ):,} rows, first in "
            f"row {int(np.argmax(differ))}. Compare two models on the same faces, in the same "
            "order."
        )


@dataclass(frozen=True, eq=False)
class _Sheet:
    """Per-face terms such that every metric of a resample follows from weighted sums of them."""

    membership: FloatArray
    large: BoolArray
    gaps: FloatArray
    order: IntArray
    ends: IntArray
    means: Mapping[str, FloatArray]
    compound: FloatArray | None
    matched: FloatArray | None

    @classmethod
    def of(cls, predictions: Predictions) -> "_Sheet":
        confidence = predictions.confidence
        correct = predictions.correct.astype(np.float64)
        membership, large = _membership(confidence)
        order = np.argsort(confidence).astype(np.int64)
        compound, matched = _compound_terms(predictions)
        return cls(
            membership=membership,
            large=large,
            gaps=correct - confidence,
            order=order,
            ends=tie_ends(confidence[order]),
            means={
                "accuracy": correct,
                "nll": surprisal(predictions.probabilities, predictions.labels),
                "brier": squared_distance(predictions.probabilities, predictions.labels),
            },
            compound=compound,
            matched=matched,
        )


def _compound_terms(predictions: Predictions) -> tuple[FloatArray | None, FloatArray | None]:
    if predictions.votes is None or predictions.votes.shape[1] < 2:
        return None, None
    compounds = compound_faces(predictions.votes)
    if not compounds.mask.any():
        return None, None
    matched = pair_matches(predictions.probabilities, compounds)
    return compounds.mask.astype(np.float64), matched.astype(np.float64)


def _membership(confidence: FloatArray) -> tuple[FloatArray, BoolArray]:
    """1 where a face (row) is in an equal-width bin (column), and which bins hold 50 of them."""
    membership = np.eye(BINS)[bin_of(confidence, BINS)]
    return membership, membership.sum(axis=0) >= LARGE_BIN


def _statistics(sheet: _Sheet, weights: FloatArray) -> dict[str, FloatArray]:
    """Every metric for every row of weights (resamples, n): how often each face was drawn."""
    faces = weights.shape[1]
    sums = weights @ np.hstack((sheet.membership, sheet.membership * sheet.gaps[:, np.newaxis]))
    ordered_gaps = sheet.gaps[sheet.order]
    adaptive = [
        np.abs(equal_mass_gaps(row[sheet.order], ordered_gaps, sheet.ends, BINS)).sum()
        for row in weights
    ]
    statistics = {
        **{name: weights @ terms / faces for name, terms in sheet.means.items()},
        **_equal_width_errors(sums[:, :BINS], sums[:, BINS:], sheet.large, faces),
        "aece": np.array(adaptive) / faces,
    }
    if sheet.compound is not None and sheet.matched is not None:
        statistics["top2_match"] = _ratio(weights @ sheet.matched, weights @ sheet.compound)
    return statistics


def _equal_width_errors(
    counts: FloatArray, gaps: FloatArray, large: BoolArray, faces: int
) -> dict[str, FloatArray]:
    distances = np.nan_to_num(_ratio(np.abs(gaps), np.broadcast_to(counts, gaps.shape)))
    errors = {"ece": np.abs(gaps).sum(axis=1) / faces, "mce": distances.max(axis=1)}
    if large.any():
        errors["mce50"] = distances[:, large].max(axis=1)
    return errors


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """NaN where there is nothing to divide by."""
    unknown = np.full(numerator.shape, np.nan)
    known: FloatArray = np.divide(numerator, denominator, out=unknown, where=denominator > 0)
    return known


def _spreads(
    statistics: Callable[[FloatArray], dict[str, FloatArray]],
    faces: int,
    resamples: int,
    seed: int,
) -> dict[str, Interval]:
    measured = statistics(np.ones((1, faces)))
    draws = _joined(statistics(weights) for weights in _weights(faces, resamples, seed))
    return {name: _around(float(value[0]), draws[name]) for name, value in measured.items()}


def _around(measured: float, draws: FloatArray) -> Interval:
    """The middle 95 % of the draws, moved so that their mean is the measured figure.

    A resample without a compound face has no top-2 match; it is left out.
    """
    known = draws[~np.isnan(draws)]
    if not known.size:
        return Interval(measured, measured)
    shift = measured - float(known.mean())
    low, high = (float(bound) + shift for bound in np.quantile(known, LEVEL))
    return Interval(min(low, measured), max(high, measured))


def _joined(blocks: Iterable[dict[str, FloatArray]]) -> dict[str, FloatArray]:
    collected = list(blocks)
    return {name: np.concatenate([block[name] for block in collected]) for name in collected[0]}


def _weights(faces: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    """How often each face is drawn in each resample, in blocks; a seed fixes all of them."""
    generator = np.random.default_rng(seed)
    for rows in _blocks(resamples, faces):
        drawn = generator.integers(faces, size=(rows, faces))
        drawn += np.arange(rows)[:, np.newaxis] * faces
        counts = np.bincount(drawn.ravel(), minlength=rows * faces)
        yield counts.reshape(rows, faces).astype(np.float64)


def _blocks(resamples: int, faces: int) -> Iterator[int]:
    if resamples < 1:
        raise RankotomError(f"Resampling needs at least one resample, not {resamples}.")
    rows = max(1, BLOCK // faces)
    for start in range(0, resamples, rows):
        yield min(rows, resamples - start)
