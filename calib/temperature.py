"""Temperature scaling: one number that divides the logits and leaves the answer as it is.

Dividing all logits of a face by T > 0 keeps their order, so the predicted emotion, and with it
the accuracy, never changes; only the confidence does (Guo et al. 2017, "On Calibration of Modern
Neural Networks").
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from calib.arrays import FloatArray, as_labels, as_numbers, as_probabilities
from calib.errors import RankotomError

BOUNDS = (0.05, 20.0)
# Near its minimum the NLL is flat to float64 within about 1e-8 of log T; finer is noise.
TOLERANCE = 1e-8
GOLDEN = (math.sqrt(5) - 1) / 2


def softmax(logits: ArrayLike, temperature: float = 1.0) -> FloatArray:
    """exp(z / T) / sum exp(z / T) along the rows, of logits (not of probabilities).

    The largest logit is taken off first: no overflow, and no rounding that could swap two
    classes. Two logits closer than float64 can tell apart after exp come out equal.
    """
    if not (math.isfinite(temperature) and temperature > 0):
        raise RankotomError(f"A temperature is a number above 0, not {temperature}.")
    scores = as_numbers(logits, "logits", dimensions=2)
    weights = np.exp(_below_the_largest(scores) / temperature)
    probabilities: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return probabilities


def fit_temperature(
    logits: ArrayLike, labels: ArrayLike, bounds: tuple[float, float] = BOUNDS
) -> float:
    """The temperature within the bounds that minimises the NLL.

    Where there is no minimum inside (every face right: colder is always better; every face wrong:
    hotter is) the answer is exactly the bound, which ``at_bound`` recognises. Where no temperature
    is better than 1 (logits all equal) the answer is 1.
    """
    scores = as_numbers(logits, "logits", dimensions=2)
    truth = as_labels(labels, *scores.shape)
    below = _below_the_largest(scores)
    return _least_cross_entropy(below, below[np.arange(len(truth)), truth], bounds)


def match_temperature(
    logits: ArrayLike, probabilities: ArrayLike, bounds: tuple[float, float] = BOUNDS
) -> float:
    """The temperature at which softmax(z / T) has the least cross-entropy to ``probabilities``.

    These are another model's calibrated answers for the same faces: where there are no labels,
    this keeps its calibration. Labels are the case of rows with a single 1 (``fit_temperature``).
    """
    scores = as_numbers(logits, "logits", dimensions=2)
    wanted = as_probabilities(probabilities)
    if wanted.shape != scores.shape:
        raise RankotomError(
            f"The probabilities to match have shape {wanted.shape}, but the logits {scores.shape}: "
            "they must be two models' answers for the same faces and classes."
        )
    below = _below_the_largest(scores)
    return _least_cross_entropy(below, (wanted * below).sum(axis=1), bounds)


def at_bound(temperature: float, bounds: tuple[float, float] = BOUNDS) -> bool:
    """True when a fit ran into its bounds: the faces do not determine a temperature."""
    return temperature in bounds


def _below_the_largest(scores: FloatArray) -> FloatArray:
    differences: FloatArray = scores - scores.max(axis=1, keepdims=True)
    return differences


def _least_cross_entropy(
    below: FloatArray, expected: FloatArray, bounds: tuple[float, float]
) -> float:
    """The minimum of mean(log sum exp(z / T) - E z / T), with E z the mean of a face's logits under
    the answer that is wanted of it.

    It is convex in 1 / T, so along log T it has one valley, and golden section finds its floor.
    """
    low, high = bounds
    if not (0 < low < high < math.inf):
        raise RankotomError(f"Temperature bounds must be 0 < low < high, not {low} and {high}.")

    def cost_at(temperature: float) -> float:
        log_sums = np.log(np.exp(below / temperature).sum(axis=1))
        return float(np.mean(log_sums - expected / temperature))

    found = math.exp(golden_section(lambda x: cost_at(math.exp(x)), math.log(low), math.log(high)))
    untouched = [1.0] if low <= 1 <= high else []
    return min([*untouched, low, high, found], key=cost_at)


def golden_section(cost: Callable[[float], float], low: float, high: float) -> float:
    """The minimum of a function with one valley: the bracket shrinks by 0.618 a step."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    left_cost, right_cost = cost(left), cost(right)
    while high - low > TOLERANCE:
        if left_cost <= right_cost:
            high, right, right_cost = right, left, left_cost
            left = high - GOLDEN * (high - low)
            left_cost = cost(left)
        else:
            low, left, left_cost = left, right, right_cost
            right = low + GOLDEN * (high - low)
            right_cost = cost(right)
    return (low + high) / 2
