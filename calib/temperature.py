"""Temperature scaling: one number that divides the logits and keeps the predicted class.

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

BOUNDS = (0.05, 20.0)  # chosen by eye
# Within about 1e-8 of its minimum along log T, the NLL is constant in float64.
TOLERANCE = 1e-8
GOLDEN = (math.sqrt(5) - 1) / 2


def softmax(logits: ArrayLike, temperature: float = 1.0) -> FloatArray:
    """exp(z / T) / sum exp(z / T) along the rows, of logits (not of probabilities).

    The largest logit is subtracted first, so that nothing overflows and no rounding swaps two
    classes. Two logits that differ by less than float64 resolves after exp give equal results.
    """
    if not (math.isfinite(temperature) and temperature > 0):
        raise RankotomError(f"A temperature is a number above 0, not {temperature}.")
    scores = as_numbers(logits, "logits", dimensions=2)
    weights = np.exp(_subtract_largest(scores) / temperature)
    probabilities: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return probabilities


def fit_temperature(
    logits: ArrayLike, labels: ArrayLike, bounds: tuple[float, float] = BOUNDS
) -> float:
    """The temperature within the bounds that minimises the NLL.

    Without a minimum inside the bounds (every face right: lower is always better; every face
    wrong: higher is) the result is exactly the bound, which ``at_bound`` recognises. Where no
    temperature is better than 1 (all logits equal) the result is 1.
    """
    scores = as_numbers(logits, "logits", dimensions=2)
    truth = as_labels(labels, *scores.shape)
    below = _subtract_largest(scores)
    return _minimise_cross_entropy(below, below[np.arange(len(truth)), truth], bounds)


def match_temperature(
    logits: ArrayLike, probabilities: ArrayLike, bounds: tuple[float, float] = BOUNDS
) -> float:
    """The temperature at which softmax(z / T) has the least cross-entropy to ``probabilities``.

    They are another model's calibrated probabilities for the same faces: without labels, this
    keeps its calibration. Labels are the case of rows with a single 1 (``fit_temperature``).
    """
    scores = as_numbers(logits, "logits", dimensions=2)
    wanted = as_probabilities(probabilities)
    if wanted.shape != scores.shape:
        raise RankotomError(
            f"The probabilities to match have shape {wanted.shape}, but the logits {scores.shape}: "
            "they must be from two models for the same faces and classes."
        )
    below = _subtract_largest(scores)
    return _minimise_cross_entropy(below, (wanted * below).sum(axis=1), bounds)


def at_bound(temperature: float, bounds: tuple[float, float] = BOUNDS) -> bool:
    """Whether a fit stopped at a bound: the faces do not determine a temperature."""
    return temperature in bounds


def _subtract_largest(scores: FloatArray) -> FloatArray:
    differences: FloatArray = scores - scores.max(axis=1, keepdims=True)
    return differences


def _minimise_cross_entropy(
    below: FloatArray, expected: FloatArray, bounds: tuple[float, float]
) -> float:
    """The minimum of mean(log sum exp(z / T) - E z / T), where E z (``expected``) is the mean of a
    face's logits under the wanted probabilities.

    It is convex in 1 / T, so it has one minimum along log T, and golden section finds it.
    """
    low, high = bounds
    if not (0 < low < high < math.inf):
        raise RankotomError(f"Temperature bounds must be 0 < low < high, not {low} and {high}.")

    def cost_at(temperature: float) -> float:
        log_sums = np.log(np.exp(below / temperature).sum(axis=1))
        return float(np.mean(log_sums - expected / temperature))

    found = math.exp(golden_section(lambda x: cost_at(math.exp(x)), math.log(low), math.log(high)))
    unchanged = [1.0] if low <= 1 <= high else []
    return min([*unchanged, low, high, found], key=cost_at)


def golden_section(cost: Callable[[float], float], low: float, high: float) -> float:
    """The minimum of a function that has only one: each step shrinks the bracket to 0.618 of it."""
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
