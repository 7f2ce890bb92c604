"""Offsets: one number for each class, added to its logits, so that none is claimed too often.

A temperature makes all classes surer or less sure together. What it cannot mend is a model that is
too fond of one class (Alexandari et al. 2020, bias-corrected temperature scaling): faces at 40 to
60 % that should tip the other way. Offsets can, and so they may change the answer.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from calib.arrays import FloatArray, IntArray, as_labels, as_numbers
from calib.temperature import BOUNDS, at_bound, fit_temperature, golden_section, softmax

# How large an offset is before any face is seen, as a standard deviation, at a temperature of 1: a
# class with a dozen faces moves little, one with hundreds as far as they say.
PRIOR = 0.3
ROUNDS = 20  # a handful is needed where the faces say enough
SETTLED = 1e-9


def fit_offsets(logits: ArrayLike, labels: ArrayLike) -> FloatArray:
    """The offsets o (k,), in the units of the logits, that with the best temperature T for them
    have the least cost: the NLL of softmax((z + o) / T), and the prior's of o / T. Their sum is 0.

    Found in turns, each of which can only lower the cost: o / T with T as it is, then T with o / T.
    Where the faces do not determine a temperature, all offsets are 0.
    """
    scores = as_numbers(logits, "logits", dimensions=2)
    truth = as_labels(labels, *scores.shape)
    temperature, offsets = fit_temperature(scores, truth), np.zeros(scores.shape[1])
    if at_bound(temperature):
        return offsets
    for _ in range(ROUNDS):
        before = offsets
        offsets = _offsets_at(scores / temperature, truth, offsets)
        if float(np.abs(offsets - before).max()) < SETTLED:
            break
        temperature = _temperature_at(scores, truth, offsets)
    centred: FloatArray = temperature * (offsets - offsets.mean())
    return centred


def _temperature_at(scores: FloatArray, truth: IntArray, offsets: FloatArray) -> float:
    low, high = (math.log(bound) for bound in BOUNDS)
    best: float = golden_section(lambda x: _nll(scores / math.exp(x) + offsets, truth), low, high)
    return math.exp(best)


def _offsets_at(scores: FloatArray, truth: IntArray, offsets: FloatArray) -> FloatArray:
    """At a temperature of 1, by Newton's method: with the prior the cost has one minimum, and a
    step that would overshoot is halved."""
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
        if float(np.abs(step).max()) < SETTLED:
            break
        before = cost(offsets)
        while cost(offsets - step) > before and float(np.abs(step).max()) > SETTLED:
            step = step / 2
        offsets = offsets - step
    return offsets


def _nll(shifted: FloatArray, truth: IntArray) -> float:
    below = shifted - shifted.max(axis=1, keepdims=True)
    return float(np.mean(np.log(np.exp(below).sum(axis=1)) - below[np.arange(len(truth)), truth]))
