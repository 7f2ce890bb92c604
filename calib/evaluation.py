"""Everything that one set of predictions says about a model, and how far to trust each metric."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from calib import metrics
from calib.blends import top2_match, vote_distance
from calib.guarantees import COVERAGES, Threshold, set_masses, thresholds
from calib.intervals import Interval
from calib.json_fields import (
    as_list,
    as_mapping,
    count,
    interval,
    number,
    number_or_none,
    reliability_bin,
)
from calib.json_fields import floor as read_floor
from calib.metrics import LARGE_BIN, Bin
from calib.predictions import Predictions
from calib.resampling import RESAMPLES, ROUGH_INTERVALS, Floor, bootstrap, floor

METRICS = (
    "accuracy",
    "mean_recall",
    "ece",
    "aece",
    "smooth_ece",
    "mce",
    "mce50",
    "classwise_ece",
    "nll",
    "brier",
    "top2_match",
    "vote_distance",
)
CALIBRATION_METRICS = ("ece", "aece", "mce", "mce50")
# Every evaluation has them, as a share with an interval.
REQUIRED_METRICS = ("accuracy", "ece", "aece", "mce")
MOST_FACES = 10_000_000  # in a file; more would be damage, and take gigabytes to count
# On few faces many draws equal the measured value, except for the order of their sums.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Estimate:
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
class ClassMetrics:
    """One emotion: ``count`` faces have it as their label, ``predicted`` as their prediction.

    ``accuracy`` is over the labelled faces (recall); ``confidence`` and ``precision`` are over the
    predicted ones: what the model claims when it names this emotion, and how often it is right.
    ``ece`` is class-wise.
    """

    name: str
    count: int
    accuracy: float | None
    predicted: int
    confidence: float | None
    precision: float | None
    ece: float

    def as_json(self) -> dict[str, object]:
        entries = asdict(self)
        del entries["name"]
        return entries

    @classmethod
    def from_json(cls, name: str, saved: Mapping[str, Any]) -> "ClassMetrics":
        return cls(
            name=name,
            count=count(saved, "count"),
            accuracy=number_or_none(saved, "accuracy"),
            predicted=count(saved, "predicted"),
            confidence=number_or_none(saved, "confidence"),
            precision=number_or_none(saved, "precision"),
            ece=number(saved, "ece"),
        )


@dataclass(frozen=True)
class Evaluation:
    """``metrics`` has an entry for each of ``METRICS``; ``confusion[label][predicted]`` counts
    faces. ``reliability`` is of the highest probability of each face, ``other_bars`` of all the
    others; ``temperature`` is the one already applied. ``thresholds`` and ``set_masses`` (for
    ``calib.guarantees.COVERAGES``) are empty in files of before they were measured."""

    n: int
    classes: tuple[str, ...]
    metrics: Mapping[str, Estimate]
    reliability: tuple[Bin, ...]
    per_class: tuple[ClassMetrics, ...]
    confusion: tuple[tuple[int, ...], ...]
    other_bars: tuple[Bin, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    set_masses: tuple[float, ...] = ()
    temperature: float | None = None
    model: Mapping[str, object] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """The output of ``rankotom-edge evaluate --json``: fractions, null for what does not apply.

        Each metric is a field of its own, followed by ``intervals`` {metric: [low, high]},
        ``rough_intervals`` [metric], ``floor`` {metric: {mean, p95}}, ``consistent``
        {metric: true or false}, ``bins``, ``other_bars``, ``thresholds``, ``set_masses``,
        ``per_class`` by name, ``confusion`` (rows are labels) and ``model``.
        """
        calibration = {name: self.metrics[name] for name in CALIBRATION_METRICS}
        return {
            "n": self.n,
            **{name: estimate.value for name, estimate in self.metrics.items()},
            "temperature": self.temperature,
            "intervals": {
                name: interval_as_json(estimate.interval) for name, estimate in self.metrics.items()
            },
            "rough_intervals": list(ROUGH_INTERVALS),
            "floor": {
                name: estimate.floor and asdict(estimate.floor)
                for name, estimate in calibration.items()
            },
            "consistent": {name: estimate.consistent for name, estimate in calibration.items()},
            "bins": [asdict(bin_) for bin_ in self.reliability],
            "other_bars": [asdict(bin_) for bin_ in self.other_bars],
            "thresholds": [[each.confidence, each.count, each.wrong] for each in self.thresholds],
            "set_masses": list(self.set_masses),
            "per_class": {emotion.name: emotion.as_json() for emotion in self.per_class},
            "classes": list(self.classes),
            "confusion": [list(row) for row in self.confusion],
            "model": dict(self.model),
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> "Evaluation":
        """Read what ``as_json`` wrote, now or in an earlier version with fewer fields.

        Only ``n`` and accuracy, ECE, AECE and MCE with their intervals must be there. Raises
        KeyError for a missing field and ValueError for one that is not what it should be.
        """
        intervals = as_mapping(saved["intervals"])
        floors = as_mapping(saved.get("floor", {}))
        per_class = as_mapping(saved.get("per_class", {}))
        classes = tuple(str(name) for name in as_list(saved.get("classes", [*per_class])))
        faces = count(saved, "n")
        for name in REQUIRED_METRICS:
            if not 0 <= number(saved, name) <= 1 or intervals[name] is None:
                raise ValueError(f"{name} is not a share with its interval")
        return cls(
            n=faces,
            classes=classes,
            metrics={
                name: Estimate(
                    number_or_none(saved, name),
                    interval(intervals.get(name)),
                    read_floor(floors.get(name)),
                )
                for name in METRICS
            },
            reliability=tuple(
                reliability_bin(as_mapping(bin_)) for bin_ in as_list(saved.get("bins", []))
            ),
            per_class=tuple(
                ClassMetrics.from_json(name, as_mapping(per_class[name]))
                for name in (classes if per_class else ())
            ),
            confusion=tuple(
                tuple(int(count) for count in as_list(row))
                for row in as_list(saved.get("confusion", []))
            ),
            other_bars=tuple(
                reliability_bin(as_mapping(bin_)) for bin_ in as_list(saved.get("other_bars", []))
            ),
            thresholds=tuple(
                _threshold(each, faces) for each in as_list(saved.get("thresholds", []))
            ),
            set_masses=_set_masses(as_list(saved.get("set_masses", []))),
            temperature=number_or_none(saved, "temperature"),
            model=dict(as_mapping(saved.get("model", {}))),
        )


def evaluate(
    predictions: Predictions,
    *,
    temperature: float | None = None,
    model: Mapping[str, object] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Evaluation:
    """Measure the predictions as they are.

    ``temperature`` and ``model`` are only noted: the temperature that made these probabilities,
    and anything worth knowing about the model, as JSON.
    """
    classwise = metrics.classwise_ece(predictions.probabilities, predictions.labels)
    values = {**_values(predictions), "classwise_ece": float(classwise.mean())}
    intervals = bootstrap(predictions, resamples, seed)
    floors = floor(predictions.confidence, resamples, seed)
    confusion = _confusion(predictions)
    return Evaluation(
        n=len(predictions),
        classes=predictions.classes,
        metrics={
            name: Estimate(values[name], intervals.get(name), floors.get(name)) for name in METRICS
        },
        reliability=metrics.reliability(predictions.confidence, predictions.correct),
        per_class=tuple(
            _class_metrics(predictions, confusion, index, float(error))
            for index, error in enumerate(classwise)
        ),
        confusion=confusion,
        other_bars=metrics.other_bars(predictions.probabilities, predictions.labels),
        thresholds=thresholds(predictions.confidence, predictions.correct),
        set_masses=set_masses(predictions.probabilities, predictions.labels),
        temperature=temperature,
        model=dict(model or {}),
    )


def _values(predictions: Predictions) -> dict[str, float | None]:
    confidence, correct = predictions.confidence, predictions.correct
    votes = predictions.votes
    return {
        "accuracy": float(correct.mean()),
        "mean_recall": metrics.mean_recall(predictions.probabilities, predictions.labels),
        "ece": metrics.ece(confidence, correct),
        "aece": metrics.adaptive_ece(confidence, correct),
        "smooth_ece": metrics.smooth_ece(confidence, correct),
        "mce": metrics.mce(confidence, correct),
        "mce50": nan_to_none(metrics.mce(confidence, correct, least=LARGE_BIN)),
        "nll": metrics.nll(predictions.probabilities, predictions.labels),
        "brier": metrics.brier(predictions.probabilities, predictions.labels),
        "top2_match": (
            top2_match(predictions.probabilities, votes)
            if votes is not None and len(predictions.classes) > 1
            else None
        ),
        "vote_distance": (
            nan_to_none(vote_distance(predictions.probabilities, votes))
            if votes is not None
            else None
        ),
    }


def _confusion(predictions: Predictions) -> tuple[tuple[int, ...], ...]:
    classes = len(predictions.classes)
    cells = predictions.labels * classes + predictions.predicted
    counts = np.bincount(cells, minlength=classes**2).reshape(classes, classes)
    return tuple(tuple(row) for row in counts.tolist())


def _class_metrics(
    predictions: Predictions, confusion: tuple[tuple[int, ...], ...], index: int, error: float
) -> ClassMetrics:
    labelled, predicted = sum(confusion[index]), sum(row[index] for row in confusion)
    right = confusion[index][index]
    claimed = predictions.confidence[predictions.predicted == index]
    return ClassMetrics(
        name=predictions.classes[index],
        count=labelled,
        accuracy=right / labelled if labelled else None,
        predicted=predicted,
        confidence=float(claimed.mean()) if predicted else None,
        precision=right / predicted if predicted else None,
        ece=error,
    )


def nan_to_none(value: float) -> float | None:
    """JSON has no NaN; null takes its place."""
    return None if math.isnan(value) else value


def interval_as_json(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def _threshold(saved: object, faces: int) -> Threshold:
    fields = dict(zip(("confidence", "count", "wrong"), as_list(saved), strict=True))
    threshold = Threshold(
        number(fields, "confidence"), count(fields, "count"), count(fields, "wrong")
    )
    known = threshold.wrong <= threshold.count <= min(faces, MOST_FACES)
    if not 0 <= threshold.confidence <= 1 or not known:
        raise ValueError(f"{saved!r} is not a confidence, a number of faces and how many are wrong")
    return threshold


def _set_masses(saved: list[Any]) -> tuple[float, ...]:
    masses = tuple(number({"set_masses": mass}, "set_masses") for mass in saved)
    if len(masses) not in (0, len(COVERAGES)) or not all(0 <= mass <= 1 for mass in masses):
        raise ValueError(f"set_masses needs {len(COVERAGES)} shares")
    return masses


def _bins(saved: Mapping[str, Any], name: str) -> tuple[Bin, ...]:
    return tuple(reliability_bin(as_mapping(bin_)) for bin_ in as_list(saved.get(name, [])))
