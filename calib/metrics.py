"""The paper's calibration metrics and their companions, on arrays.

``confidence`` is the probability of the predicted class, ``correct`` whether that class was
right. With M bins over the confidences (paper, appendix, "Evaluation Metrics"):

    acc(B) = mean of correct in B        conf(B) = mean of confidence in B
    ECE = sum |B| / n * |acc(B) - conf(B)|        MCE = max |acc(B) - conf(B)|

**Equal-width bins** are [m/M, (m+1)/M): a confidence on an inner edge belongs to the bin above,
as in torchmetrics; the last bin is closed and includes 1. (torchmetrics puts exactly 1 into an
additional bin.) An empty bin adds nothing.

**Equal-mass bins** split the samples, sorted by confidence, into M runs whose sizes differ by at
most one, the larger first, as ``numpy.array_split`` does; with fewer samples than bins some stay
empty. Tied confidences have no order, so a tie across a boundary is shared: each side takes its
number of samples, all with the tie's mean correctness. So no metric depends on the order of the
samples.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calib.arrays import (
    FloatArray,
    IntArray,
    as_confidence,
    as_correct,
    as_labels,
    as_probabilities,
)
from calib.errors import RankotomError

BINS = 15  # the usual number
# Two faces can decide the error of a smaller bin. `rankotom-edge evaluate docs/examples/fp32.npz`:
# MCE over all bins has a floor of 42 %, over bins with this many faces one of 8 %.
LARGE_BIN = 50
SMOOTH_CELLS = 1000  # of the smooth ECE, finer than any width that it finds


@dataclass(frozen=True)
class Bin:
    """A bin of the reliability diagram; an empty one has no confidence and no accuracy."""

    low: float
    high: float
    count: int
    confidence: float | None
    accuracy: float | None

    @property
    def gap(self) -> float | None:
        """Accuracy minus confidence: below 0 where the model is too sure of itself."""
        if self.confidence is None or self.accuracy is None:
            return None
        return self.accuracy - self.confidence


def accuracy(probabilities: ArrayLike, labels: ArrayLike) -> float:
    rows, truth = _check(probabilities, labels)
    return float(np.mean(rows.argmax(axis=1) == truth))


def mean_recall(probabilities: ArrayLike, labels: ArrayLike) -> float:
    """The mean over the classes of the share of their faces that are recognised.

    Unlike accuracy it counts rare classes as much as frequent ones. Classes without a face are left
    out.
    """
    rows, truth = _check(probabilities, labels)
    correct = rows.argmax(axis=1) == truth
    return float(np.mean([correct[truth == each].mean() for each in np.unique(truth)]))


def ece(confidence: ArrayLike, correct: ArrayLike, bins: int = BINS) -> float:
    """Expected calibration error over equal-width bins (paper, ECE)."""
    sure, right = _check_outcomes(confidence, correct)
    gaps = np.bincount(bin_of(sure, bins), weights=right - sure, minlength=bins)
    return float(np.abs(gaps).sum() / len(sure))


def adaptive_ece(confidence: ArrayLike, correct: ArrayLike, bins: int = BINS) -> float:
    """The same sum over equal-mass bins (paper, AECE)."""
    sure, right = _check_outcomes(confidence, correct)
    order = np.argsort(sure)
    gaps = equal_mass_gaps(
        np.ones(len(sure)), (right - sure)[order], tie_ends(sure[order]), check_bins(bins)
    )
    return float(np.abs(gaps).sum() / len(sure))


def smooth_ece(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Calibration error without bins (Blasiok and Nakkiran 2023).

    correct - confidence is smoothed over the confidences by a Gaussian that is reflected at 0 and
    1. The error is the mean absolute value of the result, at the width that equals the error.
    """
    sure, right = _check_outcomes(confidence, correct)
    cells = np.minimum((sure * SMOOTH_CELLS).astype(np.int64), SMOOTH_CELLS - 1)
    gaps = np.bincount(cells, weights=right - sure, minlength=SMOOTH_CELLS) / len(sure)
    reflected = np.concatenate([gaps[::-1], gaps, gaps[::-1]])
    distance = (np.arange(2 * SMOOTH_CELLS + 1) - SMOOTH_CELLS) / SMOOTH_CELLS
    narrow, wide = 0.0, 1.0
    while wide - narrow > 1e-4:
        width = (narrow + wide) / 2
        weights = np.exp(-0.5 * (distance / width) ** 2)
        smoothed = np.convolve(reflected, weights / weights.sum(), mode="valid")
        error = float(np.abs(smoothed).sum())
        narrow, wide = (width, wide) if error > width else (narrow, width)
    return error


def mce(confidence: ArrayLike, correct: ArrayLike, bins: int = BINS, least: int = 1) -> float:
    """Maximum calibration error (paper, MCE) over the bins with at least ``least`` samples.

    NaN where no bin has that many. See ``LARGE_BIN`` for why 1 is too few.
    """
    sure, right = _check_outcomes(confidence, correct)
    index = bin_of(sure, bins)
    counts = np.bincount(index, minlength=bins)
    gaps = np.bincount(index, weights=right - sure, minlength=bins)
    judged = counts >= max(least, 1)
    return float(np.max(np.abs(gaps[judged]) / counts[judged])) if judged.any() else float("nan")


def nll(probabilities: ArrayLike, labels: ArrayLike) -> float:
    """Mean of -log p(label), with p at least the float64 epsilon: a 0 costs 36.04, not infinity.

    scikit-learn has the same bound.
    """
    return float(np.mean(surprisal(*_check(probabilities, labels))))


def brier(probabilities: ArrayLike, labels: ArrayLike) -> float:
    """Mean squared distance to the one-hot label over all classes: 0 is best, 2 worst."""
    return float(np.mean(squared_distance(*_check(probabilities, labels))))


def classwise_ece(probabilities: ArrayLike, labels: ArrayLike, bins: int = BINS) -> FloatArray:
    """For each class, the ECE of its column against whether that class was the label.

    All n samples count for each class, so a rare class has a low error: most of its column is
    correctly near 0.
    """
    rows, truth = _check(probabilities, labels)
    return np.array([ece(column, truth == index, bins) for index, column in enumerate(rows.T)])


def reliability(confidence: ArrayLike, correct: ArrayLike, bins: int = BINS) -> tuple[Bin, ...]:
    """The equal-width bins, empty ones included, from 0 to 1."""
    sure, right = _check_outcomes(confidence, correct)
    index = bin_of(sure, bins)
    counts = np.bincount(index, minlength=bins)
    confidences = np.bincount(index, weights=sure, minlength=bins)
    rights = np.bincount(index, weights=right, minlength=bins)
    return tuple(
        Bin(
            low=position / bins,
            high=(position + 1) / bins,
            count=int(count),
            confidence=float(confidences[position] / count) if count else None,
            accuracy=float(rights[position] / count) if count else None,
        )
        for position, count in enumerate(counts)
    )


def other_bars(probabilities: ArrayLike, labels: ArrayLike, bins: int = BINS) -> tuple[Bin, ...]:
    """The reliability of every probability except the highest of its sample: how often a class
    with that probability, not being the prediction, is the label. Empty for a single class.
    """
    rows, truth = _check(probabilities, labels)
    others = np.ones(rows.shape, dtype=bool)
    others[np.arange(len(rows)), rows.argmax(axis=1)] = False
    if not others.any():
        return ()
    named = np.arange(rows.shape[1]) == truth[:, np.newaxis]
    return reliability(rows[others], named[others], bins)


def bin_of(confidence: FloatArray, bins: int) -> IntArray:
    """The equal-width bin of each confidence; the edges are the correctly rounded m / bins."""
    edges = np.arange(1, check_bins(bins)) / bins
    return np.searchsorted(edges, confidence, side="right").astype(np.int64)


def tie_ends(ordered: FloatArray) -> IntArray:
    """0, then the end of each run of equal values, counted in values from the start."""
    ends = np.flatnonzero(np.diff(ordered)) + 1
    return np.concatenate(([0], ends, [len(ordered)])).astype(np.int64)


def equal_mass_gaps(weights: FloatArray, gaps: FloatArray, ends: IntArray, bins: int) -> FloatArray:
    """The sum of weight * gap in each equal-mass bin, for samples sorted by confidence.

    The running sum is known where each tie ends and linear within it. Reading it at the boundaries
    shares a tie between the bins on both sides. Integer weights stand for repeated samples.
    """
    total = round(float(weights.sum()))
    sizes = np.full(bins, total // bins)
    sizes[: total % bins] += 1
    boundaries = np.concatenate(([0], np.cumsum(sizes)))
    running_weight = np.concatenate(([0.0], np.cumsum(weights)))[ends]
    running_gap = np.concatenate(([0.0], np.cumsum(weights * gaps)))[ends]
    return np.diff(np.interp(boundaries, running_weight, running_gap))


def surprisal(probabilities: FloatArray, labels: IntArray) -> FloatArray:
    given = probabilities[np.arange(len(labels)), labels]
    bounded: FloatArray = -np.log(np.clip(given, np.finfo(np.float64).eps, 1))
    return bounded


def squared_distance(probabilities: FloatArray, labels: IntArray) -> FloatArray:
    one_hot = np.eye(probabilities.shape[1])[labels]
    distances: FloatArray = np.square(probabilities - one_hot).sum(axis=1)
    return distances


def check_bins(bins: int) -> int:
    if bins < 1:
        raise RankotomError(f"Calibration needs at least one bin, not {bins}.")
    return bins


def _check(probabilities: ArrayLike, labels: ArrayLike) -> tuple[FloatArray, IntArray]:
    rows = as_probabilities(probabilities)
    return rows, as_labels(labels, *rows.shape)


def _check_outcomes(confidence: ArrayLike, correct: ArrayLike) -> tuple[FloatArray, FloatArray]:
    sure = as_confidence(confidence)
    return sure, as_correct(correct, len(sure))
