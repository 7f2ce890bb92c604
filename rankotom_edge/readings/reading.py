"""What the program says of a face: the expression seen, a blend of two, or that it is unsure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calib.arrays import FloatArray
from calib.blends import PAIR_SHARE, ROUNDING, blend_name
from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image

if TYPE_CHECKING:
    from rankotom_edge.faces.quality import Quality
    from rankotom_edge.faces.tracker import TrackedFace
    from rankotom_edge.model.reliability import Reliability

Verdict: TypeAlias = Literal["sure", "unsure"]

# A blend is named when both emotions together have four fifths, as in the votes that make a
# compound (calib.blends), and the second has a fifth, so that no third one is larger. A fifth was
# chosen by an embedded model before this one, as the largest whose F1 against FERPlus's compounds
# is within 0.02 of the best. By this one, on the reporting half (a test holds a little less): 35 %
# of the blends named are the compound that people saw, where always naming two would give 15 %,
# 40 % of the compounds are named, and in 58 % each emotion has at least two of ten votes.
LEAST_SECOND = 0.20
LEAST_TOGETHER = PAIR_SHARE

# A headline that trembles across a limit can't be read, so what was said of a face holds for a
# little more than what it takes to say it anew. Only sureness has no such credit: it is lost at
# once, so that the error budget is kept, and costs a little more to win back.
MORE_SURE = 0.05
LESS_BLENDED = 0.04
LESS_POOR = 0.08
TURNED = 0.05  # what the second of a blend must be ahead by to become the first
# Seconds before a new blend is told: on the way from one expression to another there is one for a
# frame or two, which nobody can read.
BREWING = 0.15


@dataclass(frozen=True)
class Blend:
    """Two emotions in one face; the shares are their probabilities."""

    first: str
    second: str
    first_share: float
    second_share: float
    name: str  # "happily surprised", else "neutral + sadness"

    @property
    def names(self) -> frozenset[str]:
        return frozenset((self.first, self.second))


@dataclass(frozen=True, eq=False)
class Reading:
    """One face of one frame, and what is said of it."""

    track: int
    face: Face
    quality: Quality
    labels: tuple[str, ...]
    probabilities: FloatArray  # (k,), smoothed over time
    raw: FloatArray  # (k,), of this frame alone
    blend: Blend | None
    verdict: Verdict
    reason: str | None  # of being unsure
    crop: Image | None = None  # as the network saw it; not recorded
    evidence: NDArray[np.float32] | None = None  # (k, height, width); not recorded
    needed: float = 0.0  # the confidence that the error budget asks for
    poor: str | None = None  # why the crop is, where it is
    brewing: tuple[frozenset[str], float] | None = None  # a blend not told yet, and since when

    @property
    def top(self) -> str:
        return self.labels[int(self.probabilities.argmax())]

    @property
    def confidence(self) -> float:
        return float(self.probabilities.max())

    def as_json(self) -> dict[str, object]:
        """DESIGN's face of a line; with ``points``, ``quality_parts`` and ``needed``, so that a
        recording can be shown and cropped again."""
        face, blend = self.face, self.blend
        parts = dict(vars(self.quality))  # asdict copies deeply: half of the cost
        score = round(parts.pop("score"), 3)
        return {
            "track": self.track,
            "box": [round(number, 1) for number in face.box],
            "points": {
                "left_eye": _rounded(face.left_eye),
                "right_eye": _rounded(face.right_eye),
                "nose": _rounded(face.nose),
                "mouth": _rounded(face.mouth),
            },
            "score": round(face.score, 3),
            "probabilities": _by_name(self.labels, self.probabilities),
            "raw": _by_name(self.labels, self.raw),
            "top": self.top,
            "confidence": round(self.confidence, 5),
            "blend": None if blend is None else [blend.first, blend.second],
            "blend_name": None if blend is None else blend.name,
            "verdict": self.verdict,
            "reason": self.reason,
            "needed": round(self.needed, 5),
            "quality": score,
            "quality_parts": {name: round(value, 3) for name, value in parts.items()},
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Reading:
        """As it was recorded: what was said then is not judged again."""
        from rankotom_edge.faces.quality import REASONS, Quality

        labels = tuple(saved["probabilities"])
        probabilities = np.array([saved["probabilities"][name] for name in labels], np.float64)
        points = {name: (float(x), float(y)) for name, (x, y) in saved["points"].items()}
        blend = None
        if saved["blend"] is not None:
            first, second = (labels.index(name) for name in saved["blend"])
            blend = _blend(labels, probabilities, first, second)
        x, y, width, height = (float(number) for number in saved["box"])
        return cls(
            track=int(saved["track"]),
            face=Face((x, y, width, height), **points, score=float(saved["score"])),
            quality=Quality(score=saved["quality"], **saved["quality_parts"]),
            labels=labels,
            probabilities=probabilities,
            raw=np.array([saved["raw"][name] for name in labels], np.float64),
            blend=blend,
            verdict=saved["verdict"],
            reason=saved["reason"],
            needed=float(saved["needed"]),
            poor=saved["reason"] if saved["reason"] in REASONS.values() else None,
        )


def read_expression(
    tracked: TrackedFace,
    *,
    labels: tuple[str, ...],
    raw: FloatArray,
    probabilities: FloatArray,
    quality: Quality,
    needed: float,
    crop: Image | None = None,
    evidence: NDArray[np.float32] | None = None,
    before: Reading | None = None,
    time: float = 0.0,
) -> Reading:
    """``needed`` is the confidence that the error budget asks for, by ``confidence_needed``;
    ``before`` is what was said of the face a moment before ``time``."""
    was_unsure = before is not None and before.verdict == "unsure"
    more = min(MORE_SURE, (1 - needed) / 2) if was_unsure else 0.0
    poor = quality.reason_after(None if before is None else before.poor, LESS_POOR)
    reason = poor or unsure_because(float(probabilities.max()), needed, more)
    blend = find_blend(probabilities, labels, None if before is None else before.blend)
    brewing = None
    if blend is not None and before is not None and not _is_same(blend, before.blend):
        brewing = _brewing(blend, before, time)
    return Reading(
        track=tracked.track,
        face=tracked.face,
        quality=quality,
        labels=labels,
        probabilities=probabilities,
        raw=raw,
        blend=blend if brewing is None else None,
        brewing=brewing,
        verdict="sure" if reason is None else "unsure",
        reason=reason,
        crop=crop,
        evidence=evidence,
        needed=needed,
        poor=poor,
    )


def _is_same(blend: Blend, before: Blend | None) -> bool:
    return before is not None and blend.names == before.names


def _brewing(blend: Blend, before: Reading, time: float) -> tuple[frozenset[str], float] | None:
    """Since when there has been a blend that is new; None once it may be told."""
    known = before.brewing is not None and before.brewing[0] == blend.names
    since = before.brewing[1] if before.brewing is not None and known else time
    return (blend.names, since) if 0 <= time - since < BREWING else None


def shown_as(reading: Reading, smoothed: bool) -> Reading:
    """The same reading told from the smoothed probabilities, or from this frame's alone."""
    if smoothed:
        return reading
    reason = reading.poor or unsure_because(float(reading.raw.max()), reading.needed)
    return replace(
        reading,
        probabilities=reading.raw,
        blend=find_blend(reading.raw, reading.labels),
        verdict="sure" if reason is None else "unsure",
        reason=reason,
    )


def bar_reliability(reading: Reading, index: int, reliability: Reliability) -> float | None:
    """How often the model was right with a bar of this height. None where the crop is poor: the
    model was measured on clear faces."""
    if reading.poor is not None:
        return None
    return reliability.at(float(reading.probabilities[index]), reading.labels[index] == reading.top)


def unsure_because(confidence: float, needed: float, more: float = 0.0) -> str | None:
    """None where it is sure; ``more``: what it takes beyond ``needed`` to become so."""
    if confidence >= needed + more:
        return None
    said, asked = min(99, round(100 * confidence)), min(99, round(100 * needed))
    return f"{said} % sure, {f'{asked} % needed' if said < asked else 'at the limit'}"


def find_blend(
    probabilities: FloatArray, labels: tuple[str, ...], before: Blend | None = None
) -> Blend | None:
    if len(labels) < 2:
        return None
    shares = probabilities.tolist()
    first, second = sorted(range(len(shares)), key=lambda index: -shares[index])[:2]
    credit = ROUNDING
    if before is not None and before.names == {labels[first], labels[second]}:
        credit += LESS_BLENDED
        if labels[first] == before.second and shares[first] - shares[second] < TURNED:
            first, second = second, first
    smaller, together = min(shares[first], shares[second]), shares[first] + shares[second]
    if smaller < LEAST_SECOND - credit or together < LEAST_TOGETHER - credit:
        return None
    return _blend(labels, probabilities, first, second)


def _blend(labels: tuple[str, ...], shares: FloatArray, first: int, second: int) -> Blend:
    one, other = labels[first], labels[second]
    return Blend(one, other, float(shares[first]), float(shares[second]), blend_name(one, other))


def _by_name(labels: tuple[str, ...], probabilities: FloatArray) -> dict[str, float]:
    return dict(zip(labels, np.round(probabilities, 5).tolist(), strict=True))


def _rounded(point: tuple[float, float]) -> list[float]:
    return [round(point[0], 2), round(point[1], 2)]
