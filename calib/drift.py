"""What a smaller or newer model costs: two sets of predictions on the same faces, compared."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from calib.arrays import BoolArray
from calib.evaluation import METRICS, Evaluation, evaluate, interval_as_json
from calib.predictions import Predictions
from calib.resampling import RESAMPLES, Interval, check_same_faces, paired_bootstrap

# Equal but for float rounding is equal: a change on its limit is within it.
ROUNDING = 1e-9
# Past this, "more faces" is no advice.
MOST_FACES = 1_000_000


@dataclass(frozen=True)
class Flips:
    """How often the predicted emotion changed, as shares of all faces.

    ``broken``: right became wrong; ``mended``: wrong became right. The rest of the rate went
    from one wrong emotion to another.
    """

    rate: float
    broken: float
    mended: float

    def as_json(self) -> dict[str, object]:
        return {"rate": self.rate, "broken": self.broken, "mended": self.mended}


@dataclass(frozen=True)
class ConfidenceShift:
    """Confidence of the candidate less that of the reference, face by face.

    ``mean`` keeps the sign, ``mean_absolute`` does not; ``worst`` is the largest shift either
    way, with its sign, and ``worst_face`` the row where it happens.
    """

    mean: float
    mean_absolute: float
    worst: float
    worst_face: int

    def as_json(self) -> dict[str, object]:
        return {
            "mean": self.mean,
            "mean_absolute": self.mean_absolute,
            "worst": self.worst,
            "worst_face": self.worst_face,
        }


@dataclass(frozen=True)
class ClassDrift:
    """The drift over the ``count`` faces labelled with one emotion; ``ece`` is class-wise.

    What needs a labelled face is None where there is none.
    """

    name: str
    count: int
    accuracy: float | None
    ece: float
    flips: Flips | None
    confidence_shift: ConfidenceShift | None

    def as_json(self) -> dict[str, object]:
        return {
            "count": self.count,
            "accuracy": self.accuracy,
            "ece": self.ece,
            "flips": None if self.flips is None else self.flips.as_json(),
            "confidence_shift": (
                None if self.confidence_shift is None else self.confidence_shift.as_json()
            ),
        }


@dataclass(frozen=True)
class Limits:
    """How much worse a candidate may be: rises of ECE and AECE, fall of accuracy, flip rate."""

    ece: float = 0.005
    aece: float = 0.005
    accuracy: float = 0.005
    flips: float = 0.02


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class Verdict:
    """``reasons``: the limits that were passed. ``unsure``: those the interval spans."""

    passed: bool
    reasons: tuple[str, ...]
    unsure: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        return {
            "passed": self.passed,
            "reasons": list(self.reasons),
            "unsure": list(self.unsure),
        }


@dataclass(frozen=True, eq=False)
class Drift:
    """``change`` is candidate less reference; ``intervals`` are paired, and of ``flips`` too.

    The ratios are candidate to reference: a size ratio of 0.26 is a file a quarter as large.
    """

    reference: Evaluation
    candidate: Evaluation
    change: Mapping[str, float]
    intervals: Mapping[str, Interval]
    flips: Flips
    confidence_shift: ConfidenceShift
    per_class: tuple[ClassDrift, ...]
    size_ratio: float | None = None
    latency_ratio: float | None = None

    def as_json(self, verdict: Verdict) -> dict[str, object]:
        """DESIGN's contract; a metric that does not apply to both is null."""
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
            "verdict": verdict.as_json(),
        }


def measure_drift(
    reference: Predictions,
    candidate: Predictions,
    *,
    reference_model: Mapping[str, object] | None = None,
    candidate_model: Mapping[str, object] | None = None,
    reference_temperature: float | None = None,
    candidate_temperature: float | None = None,
    size_ratio: float | None = None,
    latency_ratio: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Drift:
    """Compare two models on the same faces in the same order; what is only noted is keyword."""
    check_same_faces(reference, candidate)
    before = evaluate(
        reference,
        temperature=reference_temperature,
        model=reference_model,
        resamples=resamples,
        seed=seed,
    )
    after = evaluate(
        candidate,
        temperature=candidate_temperature,
        model=candidate_model,
        resamples=resamples,
        seed=seed,
    )
    everyone = np.ones(len(reference), dtype=np.bool_)
    return Drift(
        reference=before,
        candidate=after,
        change=MappingProxyType(_change(before, after)),
        intervals=MappingProxyType(paired_bootstrap(reference, candidate, resamples, seed)),
        flips=_flips(reference, candidate, everyone),
        confidence_shift=_confidence_shift(reference, candidate, everyone),
        per_class=tuple(
            _class_drift(reference, candidate, before, after, index)
            for index in range(len(reference.classes))
        ),
        size_ratio=size_ratio,
        latency_ratio=latency_ratio,
    )


def judge(drift: Drift, limits: Limits = DEFAULT_LIMITS) -> Verdict:
    """No where a measured change is past its limit, and a warning where chance might decide."""
    checks = (
        _rise("ECE", drift.change["ece"], drift.intervals["ece"], limits.ece),
        _rise("AECE", drift.change["aece"], drift.intervals["aece"], limits.aece),
        _fall("Accuracy", drift.change["accuracy"], drift.intervals["accuracy"], limits.accuracy),
        _flip_check(drift.flips.rate, drift.intervals["flips"], limits.flips),
    )
    failed = [check for check in checks if check.failed]
    return Verdict(
        passed=not failed,
        reasons=tuple(check.reason() for check in failed),
        unsure=tuple(
            check.doubt(drift.reference.n) for check in checks if check.interval.spans(check.limit)
        ),
    )


@dataclass(frozen=True)
class _Check:
    """One limit: how much worse the candidate is, said in words, against how much it may be."""

    statement: str
    worsening: float
    interval: Interval
    limit: float
    unit: str = ""

    @property
    def failed(self) -> bool:
        return self.worsening > self.limit + ROUNDING

    def reason(self) -> str:
        return f"{self.statement}; the limit is {_percent(self.limit)}{self.unit}."

    def doubt(self, faces: int) -> str:
        low, high = (
            _percent(bound, self.limit) for bound in (self.interval.low, self.interval.high)
        )
        return (
            f"{self.statement}, 95 % interval {low} to {high}, across the limit of "
            f"{_percent(self.limit)}{self.unit}: {faces:,} faces are too few to be sure; "
            f"{self._faces_to_settle(faces)} would settle it."
        )

    def _faces_to_settle(self, faces: int) -> str:
        """An interval shrinks with the root of n; it must shrink to the distance to the limit."""
        distance = abs(self.worsening - self.limit)
        if self.worsening < self.limit:
            reach = self.interval.high - self.worsening
        else:
            reach = self.worsening - self.interval.low
        if distance <= reach * math.sqrt(faces / MOST_FACES):
            return f"not even {MOST_FACES:,}"
        needed = faces * (reach / distance) ** 2
        step = 10 ** max(0, math.floor(math.log10(needed)) - 1)
        return f"about {math.ceil(needed / step - ROUNDING) * step:,}"


def _rise(name: str, change: float, interval: Interval, limit: float) -> _Check:
    verb = "rose" if change >= 0 else "fell"
    statement = f"{name} {verb} by {_percent(abs(change), limit)} points"
    return _Check(statement, change, interval, limit)


def _fall(name: str, change: float, interval: Interval, limit: float) -> _Check:
    verb = "fell" if change <= 0 else "rose"
    statement = f"{name} {verb} by {_percent(abs(change), limit)} points"
    return _Check(statement, -change, Interval(-interval.high, -interval.low), limit)


def _flip_check(rate: float, interval: Interval, limit: float) -> _Check:
    statement = f"The predicted emotion changed on {_percent(rate, limit)} % of the faces"
    return _Check(statement, rate, interval, limit, unit=" %")


def _percent(fraction: float, limit: float | None = None) -> str:
    """One decimal, or as many as it takes (up to four) to tell it from the limit."""
    percent = 100 * fraction
    if limit is None:
        return f"{percent:.4g}"
    digits = 1
    while digits < 4 and round(percent, digits) == round(100 * limit, digits):
        digits += 1
    return f"{percent:.{digits}f}"


def _change(before: Evaluation, after: Evaluation) -> dict[str, float]:
    change = {}
    for name in METRICS:
        old, new = before.figures[name].value, after.figures[name].value
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
) -> ClassDrift:
    labelled = reference.labels == index
    old, new = before.per_class[index], after.per_class[index]
    if old.accuracy is None or new.accuracy is None:
        return ClassDrift(old.name, 0, None, new.ece - old.ece, None, None)
    return ClassDrift(
        name=old.name,
        count=old.count,
        accuracy=new.accuracy - old.accuracy,
        ece=new.ece - old.ece,
        flips=_flips(reference, candidate, labelled),
        confidence_shift=_confidence_shift(reference, candidate, labelled),
    )
