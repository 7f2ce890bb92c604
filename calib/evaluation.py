"""All that one set of predictions says about a model, with how far to trust each figure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from calib import metrics
from calib.arrays import IntArray
from calib.blends import top2_match, vote_distance
from calib.metrics import Bin
from calib.predictions import Predictions
from calib.resampling import (
    LARGE_BIN,
    RESAMPLES,
    ROUGH_INTERVALS,
    Floor,
    Interval,
    bootstrap,
    floor,
)

METRICS = (
    "accuracy",
    "ece",
    "aece",
    "mce",
    "mce50",
    "classwise_ece",
    "nll",
    "brier",
    "top2_match",
    "vote_distance",
)
CALIBRATION_METRICS = ("ece", "aece", "mce", "mce50")
# On few faces many draws tie with the measured value, but for the order of their sums.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Figure:
    """A metric's value, its 95 % interval, and its floor at this sample size.

    The value is None where the metric does not apply (no votes, no bin with 50 faces); only
    calibration errors have a floor.
    """

    value: float | None
    interval: Interval | None = None
    floor: Floor | None = None

    @property
    def consistent(self) -> bool | None:
        """Whether a perfectly calibrated model could well show this value; None without a floor."""
        if self.value is None or self.floor is None:
            return None
        return self.value <= self.floor.p95 + ROUNDING


@dataclass(frozen=True)
class ClassFigures:
    """One emotion: ``count`` faces are labelled with it, ``predicted`` are called it.

    ``accuracy`` is over the labelled (recall); ``confidence`` and ``precision`` over the called:
    what the model claims when it names this emotion, and how often that is true. ``ece`` is the
    class-wise one.
    """

    name: str
    count: int
    accuracy: float | None
    predicted: int
    confidence: float | None
    precision: float | None
    ece: float

    def as_json(self) -> dict[str, object]:
        return {
            "count": self.count,
            "accuracy": self.accuracy,
            "predicted": self.predicted,
            "confidence": self.confidence,
            "precision": self.precision,
            "ece": self.ece,
        }


@dataclass(frozen=True, eq=False)
class Evaluation:
    """``confusion[label, predicted]`` counts faces; ``reliability`` is of the highest probability
    of each face, ``other_bars`` of all the others; ``temperature`` is the one already applied."""

    n: int
    classes: tuple[str, ...]
    figures: Mapping[str, Figure]
    reliability: tuple[Bin, ...]
    per_class: tuple[ClassFigures, ...]
    confusion: IntArray
    other_bars: tuple[Bin, ...] = ()
    temperature: float | None = None
    model: Mapping[str, object] = field(default_factory=dict)

    @property
    def faces(self) -> str:
        """Their number in words."""
        return "1 face" if self.n == 1 else f"{self.n:,} faces"

    def as_json(self) -> dict[str, object]:
        """DESIGN's contract: fractions, and null for what does not apply.

        Each metric is a field of its own; beside them ``intervals`` {metric: [low, high]},
        ``rough_intervals`` [metric], ``floor`` {metric: {mean, p95}}, ``consistent``
        {metric: true or false}, ``bins``, ``other_bars``, ``per_class`` by name, ``confusion``
        (rows are labels) and ``model``.
        """
        calibration = {name: self.figures[name] for name in CALIBRATION_METRICS}
        return {
            "n": self.n,
            **{name: figure.value for name, figure in self.figures.items()},
            "temperature": self.temperature,
            "intervals": {
                name: interval_as_json(figure.interval) for name, figure in self.figures.items()
            },
            "rough_intervals": list(ROUGH_INTERVALS),
            "floor": {name: _floor_as_json(figure.floor) for name, figure in calibration.items()},
            "consistent": {name: figure.consistent for name, figure in calibration.items()},
            "bins": [_bin_as_json(bin_) for bin_ in self.reliability],
            "other_bars": [_bin_as_json(bin_) for bin_ in self.other_bars],
            "per_class": {figures.name: figures.as_json() for figures in self.per_class},
            "classes": list(self.classes),
            "confusion": self.confusion.tolist(),
            "model": dict(self.model),
        }


def evaluate(
    predictions: Predictions,
    *,
    temperature: float | None = None,
    model: Mapping[str, object] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Evaluation:
    """Measure the predictions as they are.

    ``temperature`` and ``model`` are only noted: the temperature is the one that made these
    probabilities, the model whatever (JSON) is worth knowing about it.
    """
    classwise = metrics.classwise_ece(predictions.probabilities, predictions.labels)
    values = {**_values(predictions), "classwise_ece": float(classwise.mean())}
    intervals = bootstrap(predictions, resamples, seed)
    floors = floor(predictions.confidence, resamples, seed)
    confusion = _confusion(predictions)
    return Evaluation(
        n=len(predictions),
        classes=predictions.classes,
        figures=MappingProxyType(
            {name: Figure(values[name], intervals.get(name), floors.get(name)) for name in METRICS}
        ),
        reliability=metrics.reliability(predictions.confidence, predictions.correct),
        per_class=tuple(
            _class_figures(predictions, confusion, index, float(error))
            for index, error in enumerate(classwise)
        ),
        confusion=confusion,
        other_bars=metrics.other_bars(predictions.probabilities, predictions.labels),
        temperature=temperature,
        model=MappingProxyType(dict(model or {})),
    )


def _values(predictions: Predictions) -> dict[str, float | None]:
    confidence, correct = predictions.confidence, predictions.correct
    votes = predictions.votes
    return {
        "accuracy": float(correct.mean()),
        "ece": metrics.ece(confidence, correct),
        "aece": metrics.adaptive_ece(confidence, correct),
        "mce": metrics.mce(confidence, correct),
        "mce50": known(metrics.mce(confidence, correct, least=LARGE_BIN)),
        "nll": metrics.nll(predictions.probabilities, predictions.labels),
        "brier": metrics.brier(predictions.probabilities, predictions.labels),
        "top2_match": (
            top2_match(predictions.probabilities, votes)
            if votes is not None and len(predictions.classes) > 1
            else None
        ),
        "vote_distance": (
            known(vote_distance(predictions.probabilities, votes)) if votes is not None else None
        ),
    }


def _confusion(predictions: Predictions) -> IntArray:
    classes = len(predictions.classes)
    cells = predictions.labels * classes + predictions.predicted
    return np.bincount(cells, minlength=classes**2).reshape(classes, classes).astype(np.int64)


def _class_figures(
    predictions: Predictions, confusion: IntArray, index: int, error: float
) -> ClassFigures:
    labelled, called = int(confusion[index].sum()), int(confusion[:, index].sum())
    right = int(confusion[index, index])
    claimed = predictions.confidence[predictions.predicted == index]
    return ClassFigures(
        name=predictions.classes[index],
        count=labelled,
        accuracy=right / labelled if labelled else None,
        predicted=called,
        confidence=float(claimed.mean()) if called else None,
        precision=right / called if called else None,
        ece=error,
    )


def known(value: float) -> float | None:
    """JSON has no NaN: what is not a number is null."""
    return None if math.isnan(value) else value


def interval_as_json(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def _floor_as_json(bound: Floor | None) -> dict[str, float] | None:
    return None if bound is None else {"mean": bound.mean, "p95": bound.p95}


def _bin_as_json(bin_: Bin) -> dict[str, float | None]:
    return {
        "low": bin_.low,
        "high": bin_.high,
        "count": bin_.count,
        "confidence": bin_.confidence,
        "accuracy": bin_.accuracy,
    }
