"""Offsets: one number per class, added to its logits, so that no class is predicted too often.

A temperature makes all classes more or less confident together. It cannot correct a model that
prefers one class (Alexandari et al. 2020, bias-corrected temperature scaling). Offsets can, and
so they may change the predicted class.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from calib.arrays import FloatArray, IntArray, as_labels, as_numbers
from calib.temperature import BOUNDS, at_bound, fit_temperature, golden_section, softmax

# The prior's standard deviation of an offset at temperature 1, so that a class with a dozen faces
# moves little and one with hundreds is free. Chosen by eye.
PRIOR = 0.3
MOST_STEPS = 20  # usually a handful are enough
CONVERGED = 1e-9


def fit_offsets(logits: ArrayLike, labels: ArrayLike) -> FloatArray:
    """The offsets o (k,), in units of the logits, that minimise, together with a temperature T, the
    NLL of softmax((z + o) / T) plus the prior's penalty on o / T. Their sum is 0.

    Two steps alternate, and each can only lower the cost: o / T for a fixed T, then T for a fixed
    o / T. Where the faces do not determine a temperature, all offsets are 0.
    """
    scores = as_numbers(logits, "logits", dimensions=2)
    truth = as_labels(labels, *scores.shape)
    temperature, offsets = fit_temperature(scores, truth), np.zeros(scores.shape[1])
    if at_bound(temperature):
        return offsets
    for _ in range(MOST_STEPS):
        before = offsets
        offsets = _offsets_at(scores / temperature, truth, offsets)
        if float(np.abs(offsets - before).max()) < CONVERGED:
            break
        temperature = _temperature_at(scores, truth, offsets)
    centred: FloatArray = temperature * (offsets - offsets.mean())
    return centred


def _temperature_at(scores: FloatArray, truth: IntArray, offsets: FloatArray) -> float:
    low, high = (math.log(bound) for bound in BOUNDS)
    best: float = golden_section(lambda x: _nll(scores / math.exp(x) + offsets, truth), low, high)
    return math.exp(best)


def _offsets_at(scores: FloatArray, truth: IntArray, offsets: FloatArray) -> FloatArray:
    """Newton's method at temperature 1: the prior makes the minimum unique, and a step that
    overshoots is halved."""
    count, classes = scores.shape
    share = np.bincount(truth, minlength=classes) / count
    decay: float = 1 / (count * PRIOR**2)

    def cost(tried: FloatArray) -> float:
        return _nll(scores + tried, truth) + decay / 2 * float(tried @ tried)

    for _ in range(100):
        claimed = softmax(scores + offsets)
        slope = claimed.mean(axis=0) - share + decay * offsets
        curvature = np.diag(claimed.mean(axis=0) + decay) - claimed.T @ claimed / count
        step = np.linalg.solve(curvature, slope)
        if float(np.abs(step).max()) < CONVERGED:
            break
        before = cost(offsets)
        while cost(offsets - step) > before and float(np.abs(step).max()) > CONVERGED:
            step = step / 2
        offsets = offsets - step
    return offsets


def _nll(shifted: FloatArray, truth: IntArray) -> float:
    below = shifted - shifted.max(axis=1, keepdims=True)
    return float(np.mean(np.log(np.exp(below).sum(axis=1)) - below[np.arange(len(truth)), truth]))
