"""Guarantees about new faces, from measured ones: an error budget, and sets of expressions.

**Error budget** ("learn then test", Angelopoulos et al. 2021): the lowest threshold so that of the
faces with at least that confidence at most a given share is read wrongly, with 95 % confidence.
Thresholds are tested from the highest down, each by the exact binomial test of "more than that
share is wrong", up to the first one where this is not rejected. Testing in a fixed order needs no
correction for the number of tests, and all thresholds that were tested before hold as well.

**Prediction sets** (split conformal prediction, APS: Romano et al. 2020): the likeliest expressions
until their probabilities add up to a mass. The mass is chosen on measured faces so that the set of
a new face holds its label with at least a given probability (the coverage), over all faces.

Both hold for faces that are drawn independently of each other and like the measured ones: not for
the frames of one person, nor for other light, cameras or people.
"""

import math
from collections.abc import Sequence
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

CONFIDENCE = 0.95  # of an error budget
SHOWN_BUDGETS = (0.01, 0.02, 0.05, 0.1, 0.15)  # in reports
COVERAGES = tuple(percent / 100 for percent in range(50, 100))
ROUNDING = 1e-9


@dataclass(frozen=True)
class Threshold:
    """The measured faces whose confidence is at least ``confidence``, and how many were wrong."""

    confidence: float
    count: int
    wrong: int

    @property
    def error_bound(self) -> float:
        """The share of such faces that is wrong is below this, with 95 % confidence (the exact
        bound of Clopper and Pearson)."""
        low, high = 0.0, 1.0
        while self.wrong < self.count and high - low > ROUNDING:
            middle = (low + high) / 2
            rejected = at_most(self.wrong, self.count, middle) <= 1 - CONFIDENCE
            low, high = (low, middle) if rejected else (middle, high)
        return high


def thresholds(confidence: ArrayLike, correct: ArrayLike) -> tuple[Threshold, ...]:
    """At 99 %, 98 % ... 0 %."""
    sure = as_confidence(confidence)
    right = as_correct(correct, len(sure))
    found = []
    for percent in range(99, -1, -1):
        above = sure >= percent / 100
        found.append(Threshold(percent / 100, int(above.sum()), int((above & (right == 0)).sum())))
    return tuple(found)


def guaranteed_threshold(
    measured: Sequence[Threshold], max_error: float, at_least: float = 0.0
) -> Threshold | None:
    """The lowest threshold, not below ``at_least``, that keeps the error budget; None if none does.

    Thresholds with too few faces are left out: those could not show it even if none were wrong.
    That depends on no label, and the tests count how often a budget is exceeded in spite of it.
    """
    fewest = math.log(1 - CONFIDENCE) / math.log1p(-max_error)
    kept = None
    for threshold in measured:
        if threshold.count < fewest:
            continue
        rejected = at_most(threshold.wrong, threshold.count, max_error) <= 1 - CONFIDENCE
        if threshold.confidence < at_least - ROUNDING or not rejected:
            break
        kept = threshold
    return kept


def next_budget(measured: Sequence[Threshold], max_error: float) -> float | None:
    """The smallest whole percentage above ``max_error`` that can be kept."""
    budgets = (percent / 100 for percent in range(1, 100) if percent / 100 > max_error)
    return next((each for each in budgets if guaranteed_threshold(measured, each)), None)


def at_most(wrong: int, count: int, share: float) -> float:
    """The probability of at most ``wrong`` of ``count``, each wrong with probability ``share``."""
    if not 0 < share < 1:
        return float(share == 0 or wrong >= count)
    before = np.arange(min(wrong, count))
    steps = np.log((count - before) / (before + 1)) + math.log(share / (1 - share))
    logs = count * math.log1p(-share) + np.concatenate(([0.0], np.cumsum(steps)))
    return min(1.0, float(np.exp(np.logaddexp.reduce(logs))))


def set_masses(probabilities: ArrayLike, labels: ArrayLike, seed: int = 0) -> tuple[float, ...]:
    """The mass of a prediction set for each of ``COVERAGES``; 1 where the faces are too few.

    A label's score is the probability of all likelier expressions and a random part of its own.
    Without the random part the many easy faces would score near 1, and every set would be large.
    """
    rows = as_probabilities(probabilities)
    truth = as_labels(labels, *rows.shape)
    order = np.argsort(-rows, axis=1, kind="stable")
    place = (order == truth[:, np.newaxis]).argmax(axis=1)
    sums = np.cumsum(np.take_along_axis(rows, order, axis=1), axis=1)
    own = rows[np.arange(len(rows)), truth]
    likelier = sums[np.arange(len(rows)), place] - own
    scores = np.sort(likelier + np.random.default_rng(seed).random(len(rows)) * own)
    rounded_up = np.ceil(1e4 * scores) / 1e4  # a model card holds few digits
    padded = np.append(np.minimum(rounded_up, 1.0), 1.0)
    ranks = [math.ceil((len(rows) + 1) * coverage - ROUNDING) for coverage in COVERAGES]
    return tuple(float(padded[rank - 1]) for rank in ranks)


def mass_for(masses: Sequence[float], coverage: float) -> float | None:
    """The mass for at least this coverage, or None if that was not measured."""
    measured = zip(COVERAGES[: len(masses)], masses, strict=True)
    return next((mass for at, mass in measured if at >= coverage - ROUNDING), None)


def prediction_set(probabilities: FloatArray, mass: float) -> IntArray:
    """The likeliest classes until their probabilities add up to ``mass``, likeliest first.

    A mass of 1 is all of them, even if some have no probability.
    """
    order = np.argsort(-probabilities, kind="stable").astype(np.int64)
    if mass >= 1:
        return order
    size = int(np.searchsorted(np.cumsum(probabilities[order]), mass - ROUNDING)) + 1
    return order[:size]


@dataclass(frozen=True)
class SetSummary:
    """Prediction sets on faces that their mass was not chosen on."""

    coverage: float  # asked for
    covered: float  # the share of the sets that hold the label
    size: float  # expressions in a set, on average


def summarise_sets(
    probabilities: ArrayLike, labels: ArrayLike, coverages: Sequence[float]
) -> tuple[SetSummary, ...]:
    """The mass of every second face, tried on the others, and the other way round."""
    rows = as_probabilities(probabilities)
    truth = as_labels(labels, *rows.shape)
    halves = [(rows[start::2], truth[start::2]) for start in (0, 1)]
    if len(rows) < 2:
        return ()
    masses = [set_masses(*half) for half in halves]
    summaries = []
    for coverage in coverages:
        chosen = [mass_for(each, coverage) for each in masses]
        sets = [
            (label, prediction_set(row, 1.0 if mass is None else mass))
            for half, mass in zip(halves, reversed(chosen), strict=True)
            for row, label in zip(*half, strict=True)
        ]
        covered = np.mean([label in members for label, members in sets])
        size = np.mean([len(members) for _, members in sets])
        summaries.append(SetSummary(coverage, float(covered), float(size)))
    return tuple(summaries)
