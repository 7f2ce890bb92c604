"""A user's calibration of a model, fitted to a few labels of the user's own faces.

    probabilities = softmax((logits + offsets) / temperature)

``logits`` are the model's own, already divided by its temperature: temperature 1 and offsets 0 is
the model as it was shipped. The fit maximises the likelihood of the labels under the rater model
(calib/rater.py) times a prior around the model as shipped (MAP), so that few labels move it little.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calib.arrays import FloatArray
from calib.json_fields import as_list, as_mapping, number
from calib.rater import log_likelihood
from calib.temperature import BOUNDS

# Standard deviations of the prior: of log(temperature), and of offset / temperature (as in
# calib/offsets.py). What they do: `python -m train.experiments.own_calibration`.
TEMPERATURE_PRIOR = 0.3
OFFSET_PRIOR = 0.3
GRID = np.linspace(-math.log(5), math.log(5), 41)  # of log(1 / temperature)
MOST_STEPS = 500
CONVERGED = 1e-6
MOST_LABELS = 1000  # of a stored model; more would be damage
LARGEST_OFFSET = 100.0  # in a stored file; more would overflow


@dataclass(frozen=True)
class OwnCalibration:
    temperature: float = 1.0
    offsets: tuple[float, ...] = ()  # one a label; empty: none

    def apply(self, logits: ArrayLike) -> FloatArray:
        """Probabilities along the last axis; called for every frame, so nothing is checked."""
        scores = np.asarray(logits, np.float64)
        if self.offsets:
            scores = scores + np.array(self.offsets)
        scaled = scores / self.temperature
        if not scaled.size:
            return scaled
        weights = np.exp(scaled - scaled.max(axis=-1, keepdims=True))
        probabilities: FloatArray = weights / weights.sum(axis=-1, keepdims=True)
        return probabilities

    def as_json(self) -> dict[str, object]:
        return {"temperature": self.temperature, "offsets": list(self.offsets)}

    @classmethod
    def from_json(cls, saved: object) -> "OwnCalibration":
        """Raises ValueError for anything that ``as_json`` would not have written."""
        fields = as_mapping(saved)
        return cls(_temperature(fields), _offsets(fields))


def _temperature(saved: Mapping[str, Any]) -> float:
    if "temperature" not in saved:
        raise ValueError("it has no temperature")
    temperature = number(saved, "temperature")
    if not BOUNDS[0] <= temperature <= BOUNDS[1]:
        raise ValueError(f"its temperature is {temperature:g}, not {BOUNDS[0]:g} to {BOUNDS[1]:g}")
    return temperature


def _offsets(saved: Mapping[str, Any]) -> tuple[float, ...]:
    offsets = as_list(saved.get("offsets", []))
    if len(offsets) > MOST_LABELS:
        raise ValueError(f"it has {len(offsets):,} offsets")
    numbers = tuple(number({"an offset": each}, "an offset") for each in offsets)
    if any(abs(each) > LARGEST_OFFSET for each in numbers):
        raise ValueError(f"an offset is beyond {LARGEST_OFFSET:g}")
    return numbers


def fit_calibration(
    logits: FloatArray, likelihoods: FloatArray, weight: float = 1.0, offsets: bool = False
) -> OwnCalibration:
    """The most probable calibration (MAP), by EM with a Newton step as its M-step.

    ``likelihoods`` (n, k) are those of each face's votes (``rater.vote_likelihoods``). ``weight``:
    each face counts as this many independent ones. The parameters are log(1 / T) and, with
    ``offsets``, offset / T; the prior is normal around 0 for all.
    """
    classes = logits.shape[1]
    spread = [TEMPERATURE_PRIOR] + [OFFSET_PRIOR] * (classes if offsets else 0)
    precision = 1 / np.square(spread)
    found = np.zeros(len(spread))

    def goal(tried: FloatArray) -> float:
        likelihood = log_likelihood(_softmax(_scores(logits, tried)), likelihoods).sum()
        return float(weight * likelihood - 0.5 * (precision * tried**2).sum())

    # From the best temperature of a grid: a model that is almost certain of every face has no slope
    # at 1 to start with.
    found[0] = max(GRID, key=lambda start: goal(np.append(start, found[1:])))
    best = goal(found)
    for _ in range(MOST_STEPS):
        step = _newton_step(logits, likelihoods, weight, precision, found)
        while (reached := goal(found + step)) < best and float(np.abs(step).max()) > CONVERGED:
            step = step / 2
        if float(np.abs(step).max()) <= CONVERGED:
            break
        found, best = found + step, reached
    temperature = min(max(math.exp(-found[0]), BOUNDS[0]), BOUNDS[1])
    moved = found[1:] - found[1:].mean() if offsets else found[1:]
    return OwnCalibration(temperature, tuple(float(each) for each in moved * temperature))


def _newton_step(
    logits: FloatArray,
    likelihoods: FloatArray,
    weight: float,
    precision: FloatArray,
    parameters: FloatArray,
) -> FloatArray:
    """The slope of the goal, divided by the curvature that it would have if the majority labels
    were known: that is never less than the true one, so the step does not overshoot by much."""
    scores = _scores(logits, parameters)
    claimed = _softmax(scores)
    mixed = claimed * likelihoods
    responsible = mixed / np.maximum(mixed.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    scaled = logits * math.exp(parameters[0])
    design = scaled[:, :, np.newaxis]  # (n, k, parameters): how each parameter moves each score
    if len(parameters) > 1:
        ones = np.broadcast_to(np.eye(logits.shape[1]), (*logits.shape, logits.shape[1]))
        design = np.concatenate([design, ones], axis=2)
    slope = weight * np.einsum("nk,nkp->p", responsible - claimed, design) - precision * parameters
    expected = np.einsum("nk,nkp->np", claimed, design)
    curvature = np.einsum("nk,nkp,nkq->pq", claimed, design, design) - expected.T @ expected
    step: FloatArray = np.linalg.solve(weight * curvature + np.diag(precision), slope)
    return step


def _scores(logits: FloatArray, parameters: FloatArray) -> FloatArray:
    scaled: FloatArray = logits * math.exp(min(max(parameters[0], -3.0), 3.0))
    return scaled + parameters[1:] if len(parameters) > 1 else scaled


def _softmax(scores: FloatArray) -> FloatArray:
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return shares
