"""What a smaller or newer model costs: two sets of predictions on the same faces, compared."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType

import numpy as np

from calib.arrays import BoolArray
from calib.evaluation import METRICS, Evaluation, evaluate, interval_as_json
from calib.metrics import accuracy, brier, nll
from calib.predictions import Predictions
from calib.resampling import (
    RESAMPLES,
    Interval,
    check_same_faces,
    class_bootstrap,
    paired_bootstrap,
)

# Equal but for float rounding is equal: a change on its limit is within it.
ROUNDING = 1e-9
# Past this many, or ten times what there is, "more faces" is no advice.
MOST_FACES = 1_000_000
# What changes over the faces of one class; AECE and MCE of so few would be noise.
CLASS_METRICS = ("accuracy", "ece", "nll", "brier", "confidence")
SUBJECTS = {"ece": "ECE", "aece": "AECE", "accuracy": "Accuracy", "flips": "Flips"}


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
    """The drift over the ``count`` faces labelled with one emotion.

    ``change`` and the paired ``intervals`` (of ``flips`` too) are by metric; the ``ece`` among
    them is class-wise. What needs a labelled face is None, or left out, where there is none.
    """

    name: str
    count: int
    change: Mapping[str, float]
    flips: Flips | None
    confidence_shift: ConfidenceShift | None
    intervals: Mapping[str, Interval] = field(default_factory=dict)

    def beyond_chance(self, metric: str) -> bool:
        """Whether the interval of the change leaves out 0."""
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


@dataclass(frozen=True)
class Limits:
    """How much worse a candidate may be: rises of ECE and AECE, fall of accuracy, flip rate."""

    ece: float = 0.005
    aece: float = 0.005
    accuracy: float = 0.005
    flips: float = 0.02


DEFAULT_LIMITS = Limits()


def harm_of(name: str) -> int:
    """-1 where a fall does harm."""
    return -1 if name == "accuracy" else 1


def past_limit(name: str, change: float, size: float) -> bool:
    return harm_of(name) * change > size + ROUNDING


@dataclass(frozen=True)
class LimitCheck:
    """A change against its limit, both with their sign."""

    name: str
    change: float
    interval: Interval
    size: float

    @property
    def harm(self) -> int:
        return harm_of(self.name)

    @property
    def limit(self) -> float:
        return self.harm * self.size

    @property
    def failed(self) -> bool:
        return past_limit(self.name, self.change, self.size)

    @property
    def unsure(self) -> bool:
        return self.interval.spans(self.limit)

    def reason(self) -> str:
        measured = f"{100 * abs(self.change):.{self._digits(self.change)}f}"
        limit = f"{100 * self.size:.4g}"
        if self.name == "flips":
            return (
                f"The predicted emotion changed on {measured} % of the faces; "
                f"the limit is {limit} %."
            )
        verb = "rose" if self.change > 0 else "fell"
        return f"{SUBJECTS[self.name]} {verb} by {measured} points; the limit is {limit}."

    def doubt(self, faces: int) -> str:
        unit = "%" if self.name == "flips" else "points"
        number = "1 face is" if faces == 1 else f"{faces:,} faces are"
        return (
            f"{SUBJECTS[self.name]} {self._text(self.change)} {unit}, 95 % interval "
            f"{self._text(self.interval.low)} to {self._text(self.interval.high)}, limit "
            f"{self._text(self.limit)}: {number} too few to be sure; {self._advice(faces)}."
        )

    def _advice(self, faces: int) -> str:
        """An interval shrinks with the root of n; it must shrink to the distance to the limit."""
        distance = abs(self.change - self.limit)
        towards = self.interval.high if self.change < self.limit else self.interval.low
        reach = abs(towards - self.change)
        if distance <= reach * math.sqrt(faces / max(MOST_FACES, 10 * faces)):
            return "it is too close to the limit for more to settle it"
        needed = faces * (reach / distance) ** 2
        step = 10 ** max(0, math.floor(math.log10(needed)) - 1)
        return f"about {math.ceil(needed / step - ROUNDING) * step:,} would settle it"

    def _text(self, fraction: float) -> str:
        """In points with a sign, but a rate has none."""
        number = f"{100 * fraction:+.{self._digits(fraction)}f}".replace("-", "−")
        return number.removeprefix("+") if self.name == "flips" or not fraction else number

    def _digits(self, fraction: float) -> int:
        """One decimal, or as many as it takes (up to four) to tell it from the limit."""
        if fraction == self.limit:
            return max(1, len(f"{100 * self.size:.4g}".partition(".")[2]))
        digits = 1
        while digits < 4 and round(100 * fraction, digits) == round(100 * self.limit, digits):
            digits += 1
        return digits


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

    The ratio is candidate to reference: a size ratio of 0.26 is a file a quarter as large.
    """

    reference: Evaluation
    candidate: Evaluation
    change: Mapping[str, float]
    intervals: Mapping[str, Interval]
    flips: Flips
    confidence_shift: ConfidenceShift
    per_class: tuple[ClassDrift, ...]
    size_ratio: float | None = None
    latency_ms: tuple[float, float] | None = None  # of one face: the reference's, the candidate's

    @property
    def latency_ratio(self) -> float | None:
        """0.4 is two and a half times as fast."""
        return None if self.latency_ms is None else self.latency_ms[1] / self.latency_ms[0]

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
    reference_model: Mapping[str, object] | None = None,
    candidate_model: Mapping[str, object] | None = None,
    reference_temperature: float | None = None,
    candidate_temperature: float | None = None,
    size_ratio: float | None = None,
    latency_ms: tuple[float, float] | None = None,
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
    class_intervals = class_bootstrap(reference, candidate, resamples, seed)
    return Drift(
        reference=before,
        candidate=after,
        change=MappingProxyType(_change(before, after)),
        intervals=MappingProxyType(paired_bootstrap(reference, candidate, resamples, seed)),
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
    """Each limit beside what it limits: the one place where they are compared."""
    changes = {**drift.change, "flips": drift.flips.rate}
    return tuple(
        LimitCheck(name, changes[name], drift.intervals[name], size)
        for name, size in asdict(limits).items()
    )


def judge(drift: Drift, limits: Limits = DEFAULT_LIMITS) -> Verdict:
    """No where a measured change is past its limit, and a warning where chance might decide."""
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
        change=MappingProxyType({**change, "confidence": shift.mean}),
        flips=_flips(reference, candidate, faces),
        confidence_shift=shift,
        intervals=MappingProxyType(dict(intervals)),
    )
