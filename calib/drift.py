"""What a smaller or newer model costs: two models compared on the same faces."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import numpy as np

from calib.arrays import BoolArray
from calib.evaluation import METRICS, Evaluation, evaluate, interval_as_json
from calib.intervals import Interval
from calib.limits import DEFAULT_LIMITS, LimitCheck, Limits, Verdict
from calib.metrics import accuracy, brier, nll
from calib.predictions import Predictions
from calib.resampling import RESAMPLES, check_same_faces, class_bootstrap, paired_bootstrap

# AECE and MCE over the few faces of one class would be noise.
CLASS_METRICS = ("accuracy", "ece", "nll", "brier", "confidence")


@dataclass(frozen=True)
class Flips:
    """How often the predicted emotion changed, as shares of all faces.

    ``broken``: right became wrong; ``mended``: wrong became right. The rest of the rate changed
    from one wrong emotion to another.
    """

    rate: float
    broken: float
    mended: float

    def as_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class ConfidenceShift:
    """The candidate's confidence minus the reference's, face by face.

    ``mean`` keeps the sign, ``mean_absolute`` does not; ``worst`` is the largest shift in either
    direction, with its sign, and ``worst_face`` its row.
    """

    mean: float
    mean_absolute: float
    worst: float
    worst_face: int

    def as_json(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True)
class ClassDrift:
    """The drift over the ``count`` faces labelled with one emotion.

    ``change`` and the paired ``intervals`` (with ``flips``) are by metric; ``ece`` is class-wise.
    Without a labelled face, everything else is None or absent.
    """

    name: str
    count: int
    change: Mapping[str, float]
    flips: Flips | None
    confidence_shift: ConfidenceShift | None
    intervals: Mapping[str, Interval] = field(default_factory=dict)

    def beyond_chance(self, metric: str) -> bool:
        """Whether the interval of the change excludes 0."""
        interval = self.intervals.get(metric)
        return interval is not None and not interval.low <= 0 <= interval.high

    def as_json(self) -> dict[str, object]:
        return {
            "count": self.count,
            "accuracy": self.change.get("accuracy"),
            "ece": self.change["ece"],
            "change": {name: self.change.get(name) for name in CLASS_METRICS},
            "intervals": {
                name: interval_as_json(self.intervals.get(name))
                for name in (*CLASS_METRICS, "flips")
            },
            "flips": None if self.flips is None else self.flips.as_json(),
            "confidence_shift": (
                None if self.confidence_shift is None else self.confidence_shift.as_json()
            ),
        }


@dataclass(frozen=True, eq=False)
class Drift:
    """``change`` is candidate minus reference; ``intervals`` are paired, and include ``flips``.

    Ratios are candidate to reference: a size ratio of 0.26 is a file a quarter as large.
    """

    reference: Evaluation
    candidate: Evaluation
    change: Mapping[str, float]
    intervals: Mapping[str, Interval]
    flips: Flips
    confidence_shift: ConfidenceShift
    per_class: tuple[ClassDrift, ...]
    size_ratio: float | None = None
    latency_ms: tuple[float, float] | None = None  # a face: (reference, candidate)

    @property
    def latency_ratio(self) -> float | None:
        """0.4 is two and a half times as fast."""
        return None if self.latency_ms is None else self.latency_ms[1] / self.latency_ms[0]

    def as_json(self, verdict: Verdict) -> dict[str, object]:
        """The output of ``rankotom-edge drift --json``; null where a metric does not apply to
        both models."""
        return {
            "reference": self.reference.as_json(),
            "candidate": self.candidate.as_json(),
            "change": {name: self.change.get(name) for name in METRICS},
            "intervals": {
                name: interval_as_json(self.intervals.get(name)) for name in (*METRICS, "flips")
            },
            "flips": self.flips.as_json(),
            "confidence_shift": self.confidence_shift.as_json(),
            "per_class": {drift.name: drift.as_json() for drift in self.per_class},
            "size_ratio": self.size_ratio,
            "latency_ratio": self.latency_ratio,
            "latency_ms": (
                None
                if self.latency_ms is None
                else dict(zip(("reference", "candidate"), self.latency_ms, strict=True))
            ),
            "verdict": verdict.as_json(),
        }


def measure_drift(
    reference: Predictions,
    candidate: Predictions,
    *,
    models: tuple[Mapping[str, object] | None, Mapping[str, object] | None] = (None, None),
    temperatures: tuple[float | None, float | None] = (None, None),
    size_ratio: float | None = None,
    latency_ms: tuple[float, float] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Drift:
    """Compare two models on the same faces in the same order.

    Models, temperatures (reference, candidate), size and latency are only noted in the result.
    """
    check_same_faces(reference, candidate)
    before, after = (
        evaluate(predictions, temperature=temperature, model=model, resamples=resamples, seed=seed)
        for predictions, temperature, model in zip(
            (reference, candidate), temperatures, models, strict=True
        )
    )
    everyone = np.ones(len(reference), dtype=np.bool_)
    class_intervals = class_bootstrap(reference, candidate, resamples, seed)
    return Drift(
        reference=before,
        candidate=after,
        change=_change(before, after),
        intervals=paired_bootstrap(reference, candidate, resamples, seed),
        flips=_flips(reference, candidate, everyone),
        confidence_shift=_confidence_shift(reference, candidate, everyone),
        per_class=tuple(
            _class_drift(reference, candidate, before, after, index, intervals)
            for index, intervals in enumerate(class_intervals)
        ),
        size_ratio=size_ratio,
        latency_ms=latency_ms,
    )


def check_limits(drift: Drift, limits: Limits = DEFAULT_LIMITS) -> tuple[LimitCheck, ...]:
    """Each change with its limit: the one place where they are compared."""
    changes = {**drift.change, "flips": drift.flips.rate}
    return tuple(
        LimitCheck(name, changes[name], drift.intervals[name], size)
        for name, size in asdict(limits).items()
    )


def judge(drift: Drift, limits: Limits = DEFAULT_LIMITS) -> Verdict:
    """Fail where a measured change is past its limit; warn where chance might decide."""
    checks = check_limits(drift, limits)
    reasons = tuple(check.reason() for check in checks if check.failed)
    doubts = tuple(check.doubt(drift.reference.n) for check in checks if check.unsure)
    return Verdict(passed=not reasons, reasons=reasons, unsure=doubts)


def _change(before: Evaluation, after: Evaluation) -> dict[str, float]:
    change = {}
    for name in METRICS:
        old, new = before.metrics[name].value, after.metrics[name].value
        if old is not None and new is not None:
            change[name] = new - old
    return change


def _flips(reference: Predictions, candidate: Predictions, faces: BoolArray) -> Flips:
    was_right, is_right = reference.correct[faces], candidate.correct[faces]
    return Flips(
        rate=float(np.mean(reference.predicted[faces] != candidate.predicted[faces])),
        broken=float(np.mean(was_right & ~is_right)),
        mended=float(np.mean(~was_right & is_right)),
    )


def _confidence_shift(
    reference: Predictions, candidate: Predictions, faces: BoolArray
) -> ConfidenceShift:
    rows = np.flatnonzero(faces)
    shift = candidate.confidence[rows] - reference.confidence[rows]
    worst = int(np.argmax(np.abs(shift)))
    return ConfidenceShift(
        mean=float(shift.mean()),
        mean_absolute=float(np.abs(shift).mean()),
        worst=float(shift[worst]),
        worst_face=int(rows[worst]),
    )


def _class_drift(
    reference: Predictions,
    candidate: Predictions,
    before: Evaluation,
    after: Evaluation,
    index: int,
    intervals: Mapping[str, Interval],
) -> ClassDrift:
    faces = reference.labels == index
    old, new = before.per_class[index], after.per_class[index]
    change = {"ece": new.ece - old.ece}
    if not faces.any():
        return ClassDrift(old.name, 0, change, None, None, intervals)
    shift = _confidence_shift(reference, candidate, faces)
    for name, metric in (("accuracy", accuracy), ("nll", nll), ("brier", brier)):
        change[name] = metric(candidate.probabilities[faces], candidate.labels[faces]) - metric(
            reference.probabilities[faces], reference.labels[faces]
        )
    return ClassDrift(
        name=old.name,
        count=old.count,
        change={**change, "confidence": shift.mean},
        flips=_flips(reference, candidate, faces),
        confidence_shift=shift,
        intervals=intervals,
    )
