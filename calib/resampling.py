"""How far a figure can be trusted: its interval, and the floor of perfect calibration.

A calibration error is never 0 on a finite sample, not even for a perfectly calibrated model, and
a resample, which repeats faces, makes it larger still. So an interval here is the spread of the
resamples moved to where the measured figure is, and tells where the figure lies on average over
samples of this size; what part of that is noise alone, the floor tells. In a simulation (1,000
faces, 200 samples) 95 % intervals held that average in 93 to 99 % of the samples, but in 72 to
85 % for MCE over all bins, which hangs on the emptiest of them (``ROUGH_INTERVALS``).

Shares (accuracy, flips, top-2 match) are not resampled: where none of 30 faces flipped, none
flips in any resample either, though one face in ten may. ``calib.intervals`` has their intervals.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from calib.arrays import BoolArray, FloatArray, IntArray, as_confidence
from calib.blends import compound_faces, pair_matches, vote_distances
from calib.errors import RankotomError
from calib.intervals import Interval, change_interval, share_interval
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
# A handful of faces, drawn again and again, only repeats itself: below this an interval is all
# that the metric can be.
FEWEST = 10
# The class-wise errors are resampled up to this many classes; the time grows with them.
MOST_CLASSES = 64
# Resamples are drawn in blocks of this many faces, about 32 MB of weights.
BLOCK = 4_000_000
LEVEL = (0.025, 0.975)
CEILINGS = {"nll": float(-np.log(np.finfo(np.float64).eps)), "brier": 2.0}
# Their intervals hold the figure less often than 95 times in 100.
ROUGH_INTERVALS = ("mce",)


@dataclass(frozen=True)
class Floor:
    """What a perfectly calibrated model with the same confidences would show."""

    mean: float
    p95: float


def bootstrap(
    predictions: Predictions, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Interval]:
    """The 95 % interval of each metric: faces drawn with replacement, ``resamples`` times.

    ``mce50`` is there when a bin holds 50 faces, ``vote_distance`` when there are votes and
    ``top2_match`` when they make a compound. A resample keeps the bins that ``mce50`` judged in
    the sample.
    """
    sheet = _Sheet.of(predictions)
    measured, draws = _resampled(partial(_statistics, sheet), len(predictions), resamples, seed)
    spreads = {
        name: _around(measured[name], draws[name], sheet.faces_of(name), (0.0, ceiling(name)))
        for name in measured
    }
    return {**spreads, **{name: _share(hits) for name, hits in _shares(predictions).items()}}


def paired_bootstrap(
    reference: Predictions, candidate: Predictions, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Interval]:
    """The 95 % interval of candidate - reference, both measured on the same resampled faces.

    What both models owe to the faces drawn cancels, so the interval is narrower than two single
    ones would suggest. ``flips`` is the interval of the flip rate itself.
    """
    check_same_faces(reference, candidate)
    before, after = _Sheet.of(reference), _Sheet.of(candidate)

    def compare(weights: FloatArray) -> dict[str, FloatArray]:
        old, new = _statistics(before, weights), _statistics(after, weights)
        return {name: new[name] - old[name] for name in new if name in old}

    measured, draws = _resampled(compare, len(reference), resamples, seed)
    old_shares, new_shares = _shares(reference), _shares(candidate)
    return {
        **{
            name: _around(measured[name], draws[name], before.faces_of(name), _either_way(name))
            for name in measured
        },
        **{
            name: _share_change(old_shares[name], hits)
            for name, hits in new_shares.items()
            if name in old_shares and len(hits) == len(old_shares[name])
        },
        "flips": _share(reference.predicted != candidate.predicted),
    }


def class_bootstrap(
    reference: Predictions, candidate: Predictions, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[dict[str, Interval], ...]:
    """The paired intervals of each class in order, for the faces that are labelled with it.

    ``ece`` is class-wise, and so over all faces; ``confidence`` is the mean shift, ``flips`` the
    rate. A class without faces has only ``ece``.
    """
    check_same_faces(reference, candidate)
    before, after = _Sheet.of(reference), _Sheet.of(candidate)
    classes = len(reference.classes)
    labelled = np.eye(classes, dtype=np.bool_)[reference.labels]
    shifts = {
        "nll": after.means["nll"] - before.means["nll"],
        "brier": after.means["brier"] - before.means["brier"],
        "confidence": candidate.confidence - reference.confidence,
    }

    def compare(weights: FloatArray) -> dict[str, FloatArray]:
        if classes > MOST_CLASSES:
            return {}
        drawn = weights @ labelled
        return {
            "ece": _class_errors(after, weights) - _class_errors(before, weights),
            **{
                name: _ratio(weights @ (labelled * shift[:, np.newaxis]), drawn)
                for name, shift in shifts.items()
            },
        }

    def intervals(index: int) -> dict[str, Interval]:
        faces = labelled[:, index]
        count = int(np.count_nonzero(faces))
        spreads = {
            name: _around(values[:, index], draws[name][:, index], rests_on, _either_way(name))
            for name, values in measured.items()
            if (rests_on := len(faces) if name == "ece" else count)
        }
        if not count:
            return spreads
        return {
            "accuracy": _share_change(reference.correct[faces], candidate.correct[faces]),
            **spreads,
            "flips": _share(reference.predicted[faces] != candidate.predicted[faces]),
        }

    measured, draws = _resampled(compare, len(reference), resamples, seed)
    return tuple(intervals(index) for index in range(classes))


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


def ceiling(name: str) -> float:
    """The worst that a metric can be; the best is 0."""
    return CEILINGS.get(name, 1.0)


@dataclass(frozen=True, eq=False)
class _Sheet:
    """Per-face terms such that every metric of a resample follows from weighted sums of them.

    ``means`` holds NaN for the faces that a mean leaves out.
    """

    membership: FloatArray
    large: BoolArray
    gaps: FloatArray
    order: IntArray
    ends: IntArray
    means: Mapping[str, FloatArray]
    probabilities: FloatArray
    labels: IntArray

    @classmethod
    def of(cls, predictions: Predictions) -> "_Sheet":
        confidence = predictions.confidence
        rows, labels = predictions.probabilities, predictions.labels
        membership, large = _membership(confidence)
        order = np.argsort(confidence).astype(np.int64)
        means = {"nll": surprisal(rows, labels), "brier": squared_distance(rows, labels)}
        if predictions.votes is not None:
            distances = vote_distances(rows, predictions.votes)
            if not np.isnan(distances).all():
                means["vote_distance"] = distances
        return cls(
            membership=membership,
            large=large,
            gaps=predictions.correct - confidence,
            order=order,
            ends=tie_ends(confidence[order]),
            means=means,
            probabilities=rows,
            labels=labels,
        )

    def faces_of(self, name: str) -> int:
        """How many faces a metric rests on."""
        terms = self.means.get(name, self.gaps)
        return int(np.count_nonzero(~np.isnan(terms)))


def _shares(predictions: Predictions) -> dict[str, BoolArray]:
    """Whether each face counts as a hit, for the metrics that are shares of faces."""
    shares = {"accuracy": predictions.correct}
    if predictions.votes is not None and len(predictions.classes) > 1:
        compounds = compound_faces(predictions.votes)
        if compounds.mask.any():
            matched = pair_matches(predictions.probabilities, compounds)
            shares["top2_match"] = matched[compounds.mask]
    return shares


def _share(hits: BoolArray) -> Interval:
    return share_interval(int(np.count_nonzero(hits)), len(hits))


def _share_change(before: BoolArray, after: BoolArray) -> Interval:
    lost, won = np.count_nonzero(before & ~after), np.count_nonzero(after & ~before)
    return change_interval(int(lost), int(won), len(before))


def _either_way(name: str) -> tuple[float, float]:
    return -ceiling(name), ceiling(name)


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
        **_equal_width_errors(sums[:, :BINS], sums[:, BINS:], sheet.large, faces),
        "aece": np.array(adaptive) / faces,
        **{
            name: _ratio(weights @ np.nan_to_num(terms), weights @ ~np.isnan(terms))
            for name, terms in sheet.means.items()
        },
    }
    if sheet.probabilities.shape[1] <= MOST_CLASSES:
        statistics["classwise_ece"] = _class_errors(sheet, weights).mean(axis=1)
    return statistics


def _class_errors(sheet: _Sheet, weights: FloatArray) -> FloatArray:
    """The class-wise ECE of every class (column) for every row of weights."""
    errors = [
        np.abs(weights @ (_membership(column)[0] * gaps[:, np.newaxis])).sum(axis=1)
        for column, gaps in (
            (column, (sheet.labels == index) - column)
            for index, column in enumerate(sheet.probabilities.T)
        )
    ]
    stacked: FloatArray = np.stack(errors, axis=1) / weights.shape[1]
    return stacked


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


def _resampled(
    statistics: Callable[[FloatArray], dict[str, FloatArray]],
    faces: int,
    resamples: int,
    seed: int,
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """The statistics as measured, a single row each, and of the resamples, a row for each."""
    draws = _joined(statistics(weights) for weights in _weights(faces, resamples, seed))
    return statistics(np.ones((1, faces))), draws


def _around(
    measured: FloatArray, draws: FloatArray, faces: int, extent: tuple[float, float]
) -> Interval:
    """The middle 95 % of the draws, moved so that their mean is the measured figure.

    A resample in which no face counts is left out.
    """
    lowest, highest = extent
    known = draws[~np.isnan(draws)]
    if faces < FEWEST or not known.size:
        return Interval(lowest, highest)
    (value,) = measured.tolist()
    shift = value - float(known.mean())
    low, high = (float(bound) + shift for bound in np.quantile(known, LEVEL))
    return Interval(max(lowest, min(low, value)), min(highest, max(high, value)))


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
