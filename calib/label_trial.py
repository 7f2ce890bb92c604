"""What a user's labels showed: the calibration, its figures before and after, and the verdict.

The figures are of the faces that were labelled. Those are chosen spread over the range of
confidence, so they are unlike all the faces that the camera sees, and so are accuracy and ECE.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from calib.evaluation import Estimate, interval_as_json
from calib.intervals import Interval
from calib.json_fields import (
    as_list,
    as_mapping,
    count,
    floor,
    interval,
    number,
    number_or_none,
    reliability_bin,
)
from calib.limits import Verdict
from calib.metrics import Bin
from calib.own_calibration import OwnCalibration
from calib.rater import RaterAgreement
from calib.trial_gate import Evidence

SUBJECTS = ("nll", "ece", "accuracy")
MOST_BINS = 100  # in a file; more would be damage


@dataclass(frozen=True)
class LabelledFigures:
    """``nll`` is of the votes, under the rater model; ``ece`` and ``accuracy`` are in terms of
    being right, not of agreeing with a rater. ``bin_intervals`` has one for each bin with faces."""

    nll: Estimate
    ece: Estimate
    accuracy: Estimate
    confidence: float
    bins: tuple[Bin, ...]
    bin_intervals: tuple[Interval | None, ...]

    def as_json(self) -> dict[str, object]:
        floor = self.ece.floor
        return {
            **{name: getattr(self, name).value for name in SUBJECTS},
            "confidence": self.confidence,
            "intervals": {
                name: interval_as_json(getattr(self, name).interval) for name in SUBJECTS
            },
            "floor": None if floor is None else asdict(floor),
            "consistent": self.ece.consistent,
            "bins": [
                {**asdict(bin_), "interval": interval_as_json(spread)}
                for bin_, spread in zip(self.bins, self.bin_intervals, strict=True)
            ],
        }

    @classmethod
    def from_json(cls, saved: object) -> "LabelledFigures":
        fields = as_mapping(saved)
        intervals = as_mapping(fields["intervals"])
        estimates = {
            name: Estimate(_share(fields, name), interval(intervals.get(name)))
            for name in ("ece", "accuracy")
        }
        bins = [as_mapping(bin_) for bin_ in as_list(fields["bins"])]
        if not 0 < len(bins) <= MOST_BINS:
            raise ValueError(f"it has {len(bins):,} bins")
        return cls(
            nll=Estimate(number(fields, "nll"), interval(intervals.get("nll"))),
            ece=replace(estimates["ece"], floor=floor(fields.get("floor"))),
            accuracy=estimates["accuracy"],
            confidence=_share(fields, "confidence"),
            bins=tuple(_bin(bin_) for bin_ in bins),
            bin_intervals=tuple(interval(bin_.get("interval")) for bin_ in bins),
        )


@dataclass(frozen=True)
class LabelTrial:
    """``calibration`` is what was fitted, also where the verdict refuses it."""

    calibration: OwnCalibration
    before: LabelledFigures
    after: LabelledFigures
    change: Mapping[str, float]  # after - before: nll, ece, accuracy
    intervals: Mapping[str, Interval]  # of the change, paired, over groups
    evidence: Evidence
    raters: RaterAgreement
    verdict: Verdict
    faces: int  # with at least one label
    labels: int
    groups: int
    unlabelled: int  # faces for which nobody could tell
    labels_to_go: int | None  # None where more labels are not what is missing

    def as_json(self) -> dict[str, object]:
        return {
            "calibration": self.calibration.as_json(),
            "verdict": self.verdict.as_json(),
            "faces": self.faces,
            "labels": self.labels,
            "groups": self.groups,
            "unlabelled": self.unlabelled,
            "labels_to_go": self.labels_to_go,
            "before": self.before.as_json(),
            "after": self.after.as_json(),
            "change": dict(self.change),
            "intervals": {name: interval_as_json(self.intervals.get(name)) for name in SUBJECTS},
            "evidence": {
                **asdict(self.evidence),
                "temperature": interval_as_json(self.evidence.temperature),
            },
            "raters": {**asdict(self.raters), "usual": interval_as_json(self.raters.usual)},
        }

    @classmethod
    def from_json(cls, saved: object) -> "LabelTrial":
        """Raises ValueError, with what is wrong, for anything that ``as_json`` would not have
        written."""
        try:
            return cls._read(as_mapping(saved))
        except KeyError as error:
            raise ValueError(f"{error.args[0]} is missing") from error

    @classmethod
    def _read(cls, fields: Mapping[str, Any]) -> "LabelTrial":
        change, intervals = as_mapping(fields["change"]), as_mapping(fields["intervals"])
        return cls(
            calibration=OwnCalibration.from_json(fields["calibration"]),
            before=LabelledFigures.from_json(fields["before"]),
            after=LabelledFigures.from_json(fields["after"]),
            change={name: number(change, name) for name in SUBJECTS},
            intervals={
                name: spread
                for name in SUBJECTS
                if (spread := interval(intervals.get(name))) is not None
            },
            evidence=_evidence(as_mapping(fields["evidence"])),
            raters=_raters(as_mapping(fields["raters"])),
            verdict=_verdict(as_mapping(fields["verdict"])),
            faces=count(fields, "faces"),
            labels=count(fields, "labels"),
            groups=count(fields, "groups"),
            unlabelled=count(fields, "unlabelled"),
            labels_to_go=(
                None if fields.get("labels_to_go") is None else count(fields, "labels_to_go")
            ),
        )


def _share(saved: Mapping[str, Any], name: str) -> float:
    share = number(saved, name)
    if not 0 <= share <= 1:
        raise ValueError(f"{name} is {share:g}, not a share")
    return share


def _bin(saved: Mapping[str, Any]) -> Bin:
    """The curve of a reliability table runs through its bins, so each must lie where it says."""
    read = reliability_bin(saved)
    shares = [each for each in (read.confidence, read.accuracy) if each is not None]
    if not 0 <= read.low < read.high <= 1 or not all(0 <= each <= 1 for each in shares):
        raise ValueError("a bin of the reliability table has a number that is not a share")
    return read


def _evidence(saved: Mapping[str, Any]) -> Evidence:
    spread = interval(saved["temperature"])
    likeliest = number(saved, "likeliest")
    if spread is None or spread.low <= 0 or likeliest <= 0:
        raise ValueError("the evidence has a temperature that is not above 0")
    return Evidence(
        gain=number(saved, "gain"),
        likeliest=likeliest,
        temperature=spread,
        weight=_share(saved, "weight"),
    )


def _raters(saved: Mapping[str, Any]) -> RaterAgreement:
    return RaterAgreement(
        faces=count(saved, "faces"),
        observed=number_or_none(saved, "observed"),
        usual=interval(saved.get("usual")),
    )


def _verdict(saved: Mapping[str, Any]) -> Verdict:
    if not isinstance(saved["passed"], bool):
        raise ValueError(f"passed is {saved['passed']!r}, not true or false")
    reasons, unsure = (tuple(map(str, as_list(saved[name]))) for name in ("reasons", "unsure"))
    return Verdict(saved["passed"], reasons, unsure)
