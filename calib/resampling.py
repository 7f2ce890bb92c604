"""How far a metric can be trusted: its bootstrap interval, and the floor of perfect calibration.

A calibration error is never 0 on a finite sample, not even for a perfectly calibrated model, and
a resample, which repeats faces, makes it larger still. So an interval here is the spread of the
resamples, shifted so that its mean is the measured value. It covers the mean of the metric over
samples of this size; the floor shows how much of that is noise. The intervals cover that mean
about 95 times in 100, but 88 times for MCE over all bins, which depends on the emptiest of them
(``ROUGH_INTERVALS``; tests/calib/test_resampling.py counts both).

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
    LARGE_BIN,
    bin_of,
    equal_mass_gaps,
    squared_distance,
    surprisal,
    tie_ends,
)
from calib.predictions import Predictions

RESAMPLES = 1000
# Resamples of fewer faces only repeat them, so the interval is the whole range of the metric.
# Chosen by eye.
FEWEST = 10
# Class-wise errors are resampled for at most this many classes: time grows with their number.
# Chosen by eye.
MOST_CLASSES = 64
# Resamples are drawn in blocks of this many faces, about 32 MB of weights.
BLOCK = 4_000_000
QUANTILES = (0.025, 0.975)
WORST_VALUES = {"nll": float(-np.log(np.finfo(np.float64).eps)), "brier": 2.0}
# Metrics whose intervals cover less than 95 times in 100.
ROUGH_INTERVALS = ("mce",)


@dataclass(frozen=True)
class Floor:
    """The error that a perfectly calibrated model with the same confidences would show."""

    mean: float
    p95: float


def bootstrap(
    predictions: Predictions, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Interval]:
    """The 95 % interval of each metric: faces drawn with replacement, ``resamples`` times.

    ``mce50`` needs a bin with 50 faces, ``vote_distance`` needs votes, and ``top2_match`` needs
    votes that make a compound. ``mce50`` of a resample is over the bins that are large in the
    sample.
    """
    terms = _FaceTerms.of(predictions)
    measured, draws = _resample(partial(_statistics, terms), len(predictions), resamples, seed)
    spreads = {
        name: _shifted_interval(
            measured[name], draws[name], terms.faces_of(name), (0.0, worst_value(name))
        )
        for name in measured
    }
    return {**spreads, **{name: _hits_interval(hits) for name, hits in _hits(predictions).items()}}


def paired_bootstrap(
    reference: Predictions, candidate: Predictions, resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Interval]:
    """The 95 % interval of candidate - reference, both measured on the same resampled faces.

    The effect of the faces drawn cancels out, so the interval is narrower than two single ones
    would suggest. ``flips`` is the interval of the flip rate itself.
    """
    check_same_faces(reference, candidate)
    before, after = _FaceTerms.of(reference), _FaceTerms.of(candidate)

    def compare(weights: FloatArray) -> dict[str, FloatArray]:
        old, new = _statistics(before, weights), _statistics(after, weights)
        return {name: new[name] - old[name] for name in new if name in old}

    measured, draws = _resample(compare, len(reference), resamples, seed)
    old_hits, new_hits = _hits(reference), _hits(candidate)
    return {
        **{
            name: _shifted_interval(
                measured[name], draws[name], before.faces_of(name), _range_of_change(name)
            )
            for name in measured
        },
        **{
            name: _hits_change_interval(old_hits[name], hits)
            for name, hits in new_hits.items()
            if name in old_hits and len(hits) == len(old_hits[name])
        },
        "flips": _hits_interval(reference.predicted != candidate.predicted),
    }


def class_bootstrap(
    reference: Predictions, candidate: Predictions, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[dict[str, Interval], ...]:
    """The paired intervals of each class, over the faces with its label.

    ``ece`` is class-wise, so it is over all faces; ``confidence`` is the mean shift, ``flips`` the
    rate. A class without faces has only ``ece``.
    """
    check_same_faces(reference, candidate)
    before, after = _FaceTerms.of(reference), _FaceTerms.of(candidate)
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
            name: _shifted_interval(
                values[:, index], draws[name][:, index], rests_on, _range_of_change(name)
            )
            for name, values in measured.items()
            if (rests_on := len(faces) if name == "ece" else count)
        }
        if not count:
            return spreads
        return {
            "accuracy": _hits_change_interval(reference.correct[faces], candidate.correct[faces]),
            **spreads,
            "flips": _hits_interval(reference.predicted[faces] != candidate.predicted[faces]),
        }

    measured, draws = _resample(compare, len(reference), resamples, seed)
    return tuple(intervals(index) for index in range(classes))


def floor(confidence: ArrayLike, resamples: int = RESAMPLES, seed: int = 0) -> dict[str, Floor]:
    """ECE, AECE and MCE of a model that is right with exactly the probability it claims.

    Whether each face is right is drawn from its confidence, ``resamples`` times. A measured value
    below the 95th percentile is consistent with perfect calibration.
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

    draws = _concatenate(draw(rows) for rows in _block_sizes(resamples, len(sure)))
    return {
        name: Floor(mean=float(values.mean()), p95=float(np.quantile(values, 0.95)))
        for name, values in draws.items()
    }


def check_same_faces(reference: Predictions, candidate: Predictions) -> None:
    if len(reference) != len(candidate):
        raise RankotomError(
            f"The two sets of predictions have {len(reference):,} and {len(candidate):,} faces. "
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


def worst_value(name: str) -> float:
    """The largest value of a metric, which is the worst of an error; the smallest is 0."""
    return WORST_VALUES.get(name, 1.0)


@dataclass(frozen=True, eq=False)
class _FaceTerms:
    """Terms of each face from which weighted sums give every metric of a resample.

    ``means`` has NaN for the faces that a mean leaves out.
    """

    membership: FloatArray
    large: BoolArray
    gaps: FloatArray
    correct: BoolArray
    order: IntArray
    ends: IntArray
    means: Mapping[str, FloatArray]
    probabilities: FloatArray
    labels: IntArray

    @classmethod
    def of(cls, predictions: Predictions) -> "_FaceTerms":
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
            correct=predictions.correct,
            order=order,
            ends=tie_ends(confidence[order]),
            means=means,
            probabilities=rows,
            labels=labels,
        )

    def faces_of(self, name: str) -> int:
        """The number of faces that a metric is computed from."""
        values = self.means.get(name, self.gaps)
        return int(np.count_nonzero(~np.isnan(values)))


def _hits(predictions: Predictions) -> dict[str, BoolArray]:
    """Whether each face is a hit, for the metrics that are shares of faces."""
    hits = {"accuracy": predictions.correct}
    if predictions.votes is not None and len(predictions.classes) > 1:
        compounds = compound_faces(predictions.votes)
        if compounds.mask.any():
            matched = pair_matches(predictions.probabilities, compounds)
            hits["top2_match"] = matched[compounds.mask]
    return hits


def _hits_interval(hits: BoolArray) -> Interval:
    return share_interval(int(np.count_nonzero(hits)), len(hits))


def _hits_change_interval(before: BoolArray, after: BoolArray) -> Interval:
    lost, won = np.count_nonzero(before & ~after), np.count_nonzero(after & ~before)
    return change_interval(int(lost), int(won), len(before))


def _range_of_change(name: str) -> tuple[float, float]:
    return -worst_value(name), worst_value(name)


def _membership(confidence: FloatArray) -> tuple[FloatArray, BoolArray]:
    """1 where a face (row) is in an equal-width bin (column), and which bins have 50 faces."""
    membership = np.eye(BINS)[bin_of(confidence, BINS)]
    return membership, membership.sum(axis=0) >= LARGE_BIN


def _statistics(terms: _FaceTerms, weights: FloatArray) -> dict[str, FloatArray]:
    """Every metric for every row of weights (resamples, n), the number of times each face is
    drawn."""
    faces = weights.shape[1]
    sums = weights @ np.hstack((terms.membership, terms.membership * terms.gaps[:, np.newaxis]))
    ordered_gaps = terms.gaps[terms.order]
    adaptive = [
        np.abs(equal_mass_gaps(row[terms.order], ordered_gaps, terms.ends, BINS)).sum()
        for row in weights
    ]
    statistics = {
        **_equal_width_errors(sums[:, :BINS], sums[:, BINS:], terms.large, faces),
        "aece": np.array(adaptive) / faces,
        "mean_recall": _mean_recalls(terms, weights),
        **{
            name: _ratio(weights @ np.nan_to_num(values), weights @ ~np.isnan(values))
            for name, values in terms.means.items()
        },
    }
    if terms.probabilities.shape[1] <= MOST_CLASSES:
        statistics["classwise_ece"] = _class_errors(terms, weights).mean(axis=1)
    return statistics


def _mean_recalls(terms: _FaceTerms, weights: FloatArray) -> FloatArray:
    """The mean recall for every row of weights, over the classes that it drew a face of."""
    labelled = np.unique(terms.labels)[np.newaxis, :] == terms.labels[:, np.newaxis]
    found = weights @ (labelled & terms.correct[:, np.newaxis])
    recalls: FloatArray = np.nanmean(_ratio(found, weights @ labelled), axis=1)
    return recalls


def _class_errors(terms: _FaceTerms, weights: FloatArray) -> FloatArray:
    """The class-wise ECE of every class (column) for every row of weights."""
    errors = [
        np.abs(weights @ (_membership(column)[0] * gaps[:, np.newaxis])).sum(axis=1)
        for column, gaps in (
            (column, (terms.labels == index) - column)
            for index, column in enumerate(terms.probabilities.T)
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


def _resample(
    statistics: Callable[[FloatArray], dict[str, FloatArray]], faces: int, resamples: int, seed: int
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """The statistics of the sample (one row), and of the resamples (one row each)."""
    draws = _concatenate(statistics(weights) for weights in _weights(faces, resamples, seed))
    return statistics(np.ones((1, faces))), draws


def _shifted_interval(
    measured: FloatArray, draws: FloatArray, faces: int, extent: tuple[float, float]
) -> Interval:
    """The middle 95 % of the draws, shifted so that their mean is the measured value.

    A resample in which no face counts is left out.
    """
    lowest, highest = extent
    known = draws[~np.isnan(draws)]
    if faces < FEWEST or not known.size:
        return Interval(lowest, highest)
    (value,) = measured.tolist()
    shift = value - float(known.mean())
    low, high = (float(bound) + shift for bound in np.quantile(known, QUANTILES))
    return Interval(max(lowest, min(low, value)), min(highest, max(high, value)))


def _concatenate(blocks: Iterable[dict[str, FloatArray]]) -> dict[str, FloatArray]:
    collected = list(blocks)
    return {name: np.concatenate([block[name] for block in collected]) for name in collected[0]}


def _weights(faces: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    """How often each face is drawn in each resample, block by block."""
    generator = np.random.default_rng(seed)
    for rows in _block_sizes(resamples, faces):
        drawn = generator.integers(faces, size=(rows, faces))
        drawn += np.arange(rows)[:, np.newaxis] * faces
        counts = np.bincount(drawn.ravel(), minlength=rows * faces)
        yield counts.reshape(rows, faces).astype(np.float64)


def _block_sizes(resamples: int, faces: int) -> Iterator[int]:
    if resamples < 1:
        raise RankotomError(f"Resampling needs at least one resample, not {resamples}.")
    rows = max(1, BLOCK // faces)
    for start in range(0, resamples, rows):
        yield min(rows, resamples - start)
