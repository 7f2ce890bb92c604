"""What the program says of a face: the expression seen, a blend of two, or that it is unsure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calib.arrays import FloatArray
from calib.blends import PAIR_SHARE, ROUNDING, blend_name
from calib.errors import RankotomError
from rankotom_edge.faces import Face, Image

if TYPE_CHECKING:
    from rankotom_edge.quality import Quality
    from rankotom_edge.tracking import TrackedFace

Verdict: TypeAlias = Literal["sure", "unsure"]
Bins: TypeAlias = Sequence[Mapping[str, Any]]  # an artifact's figures["bins"]

# A blend is named when both emotions together have four fifths, as in the votes that make a
# compound (calib.blends), and the second has a fifth, so that no third one is larger. A fifth is
# the largest of 0.10, 0.15, 0.18, 0.20, 0.22, 0.25 ... whose F1 against FERPlus's compounds is
# within 0.02 of the best (0.333), on the half of valid to choose by: precision 28 %, recall 37 %.
# Naming always would give 12 %, and people split their votes on 19 % of the faces. In 54 % of the
# blends named each emotion has at least two of ten votes. On the other half: 29, 37 and 52 %. Nine
# tenths together would be more precise (31 %, recall 28 %), but would leave out 52 + 31. All by the
# embedded model before this one.
LEAST_SECOND = 0.20
LEAST_TOGETHER = PAIR_SHARE

# Reliability of fewer faces than this is chance: its standard error at 50 % is 7 points.
ENOUGH_FACES = 50


@dataclass(frozen=True)
class Blend:
    """Two emotions in one face; the shares are their probabilities."""

    first: str
    second: str
    first_share: float
    second_share: float
    name: str  # "happily surprised", else "neutral + sadness"


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
        from rankotom_edge.quality import Quality

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
) -> Reading:
    """``needed`` is the confidence that the error budget asks for, by ``confidence_needed``."""
    reason = unsure_because(float(probabilities.max()), quality, needed)
    return Reading(
        track=tracked.track,
        face=tracked.face,
        quality=quality,
        labels=labels,
        probabilities=probabilities,
        raw=raw,
        blend=find_blend(probabilities, labels),
        verdict="sure" if reason is None else "unsure",
        reason=reason,
        crop=crop,
        evidence=evidence,
        needed=needed,
    )


def shown_as(reading: Reading, smoothed: bool) -> Reading:
    """The same reading told from the smoothed probabilities, or from this frame's alone."""
    if smoothed:
        return reading
    reason = unsure_because(float(reading.raw.max()), reading.quality, reading.needed)
    return replace(
        reading,
        probabilities=reading.raw,
        blend=find_blend(reading.raw, reading.labels),
        verdict="sure" if reason is None else "unsure",
        reason=reason,
    )


def unsure_because(confidence: float, quality: Quality, needed: float) -> str | None:
    """None where it is sure. A poor crop is the better reason: one can do something about it."""
    if quality.reason is not None:
        return quality.reason
    if confidence >= needed:
        return None
    # Rounded apart, so that it never says "only 60 % sure; 60 % is needed".
    said, asked = math.floor(100 * confidence + ROUNDING), math.ceil(100 * needed - ROUNDING)
    return f"only {said} % sure; {asked} % is needed"


def find_blend(probabilities: FloatArray, labels: tuple[str, ...]) -> Blend | None:
    if len(labels) < 2:
        return None
    shares = probabilities.tolist()
    first, second = sorted(range(len(shares)), key=lambda index: -shares[index])[:2]
    together = shares[first] + shares[second]
    if shares[second] < LEAST_SECOND - ROUNDING or together < LEAST_TOGETHER - ROUNDING:
        return None
    return _blend(labels, probabilities, first, second)


def reliability_at(bins: Bins, confidence: float) -> float | None:
    """Of the faces read at this confidence, the share that was right; None below all measured."""
    curve = _curve(bins)
    if confidence < curve[0].confidence:
        return None
    within = min(confidence, 1.0)  # a softmax in single precision can answer 1.0000001
    before, after = _around(curve, lambda knot: knot.confidence >= within)
    return _between(within, before.confidence, after.confidence, before.right, after.right)


def confidence_needed(bins: Bins, max_error: float) -> float:
    """The lowest confidence at which a face is wrong at most ``max_error`` of the time.

    It holds for the faces at that confidence alone, not on average over surer ones, so it holds
    whatever mix of easy and hard faces is in front of the camera.
    """
    if not 0 <= max_error <= 1:
        raise RankotomError(
            f"The error budget is {100 * max_error:g} %; it must lie between 0 % and 100 %."
        )
    if max_error == 1:
        return 0.0
    curve = _curve(bins)
    asked = 1 - max_error - ROUNDING
    if curve[-1].right < asked:
        best = math.ceil(1000 * (1 - curve[-1].right)) / 10
        raise RankotomError(
            f"An error budget of {100 * max_error:g} % cannot be met: where this model is surest, "
            f"{best:g} % of the faces are still wrong. Allow at least that."
        )
    before, after = _around(curve, lambda knot: knot.right >= asked)
    return _between(asked, before.right, after.right, before.confidence, after.confidence)


class _Knot(NamedTuple):
    confidence: float
    right: float  # the share of the faces at this confidence


def _curve(bins: Bins) -> list[_Knot]:
    """Reliability by confidence, straight between the knots: from the least confidence with faces
    up to 1, and never falling."""
    filled = [bin_ for bin_ in bins if bin_["count"]]
    if not filled:
        raise RankotomError(
            "The model's file holds no reliability table, so no confidence can be held against an "
            "error budget. Export it again with: rankotom-edge export"
        )
    groups = _joined(filled)
    rights = _never_falling(groups)
    knots = [_Knot(group.confidence, right) for group, right in zip(groups, rights, strict=True)]
    return [_Knot(filled[0]["low"], rights[0]), *knots, _Knot(1.0, rights[-1])]


class _Group(NamedTuple):
    """Faces of neighbouring bins, and their means."""

    faces: int
    confidence: float
    right: float

    def with_(self, other: _Group) -> _Group:
        faces = self.faces + other.faces
        share = other.faces / faces
        return _Group(
            faces,
            self.confidence + share * (other.confidence - self.confidence),
            self.right + share * (other.right - self.right),
        )


def _joined(filled: Bins) -> list[_Group]:
    """Each bin joined with the next ones until there are ``ENOUGH_FACES``; the rest with the
    last."""
    groups: list[_Group] = []
    for bin_ in filled:
        group = _Group(bin_["count"], bin_["confidence"], bin_["accuracy"])
        if groups and groups[-1].faces < ENOUGH_FACES:
            group = groups.pop().with_(group)
        groups.append(group)
    if len(groups) > 1 and groups[-1].faces < ENOUGH_FACES:
        last = groups.pop()
        groups[-1] = groups[-1].with_(last)
    return groups


def _never_falling(groups: list[_Group]) -> list[float]:
    """The nearest rising shares, by least squares over the faces: pool adjacent violators."""
    pools: list[tuple[_Group, int]] = []  # and how many groups are in it
    for group in groups:
        pool, size = group, 1
        while pools and pools[-1][0].right >= pool.right:
            lower, lower_size = pools.pop()
            pool, size = lower.with_(pool), lower_size + size
        pools.append((pool, size))
    return [pool.right for pool, size in pools for _ in range(size)]


def _around(curve: list[_Knot], reached: Callable[[_Knot], bool]) -> tuple[_Knot, _Knot]:
    """The first knot that reached it, and the one before."""
    place = next(place for place, knot in enumerate(curve) if reached(knot))
    return curve[max(0, place - 1)], curve[place]


def _between(at: float, low: float, high: float, at_low: float, at_high: float) -> float:
    return at_high if high == low else at_low + (at - low) / (high - low) * (at_high - at_low)


def _blend(labels: tuple[str, ...], shares: FloatArray, first: int, second: int) -> Blend:
    one, other = labels[first], labels[second]
    return Blend(one, other, float(shares[first]), float(shares[second]), blend_name(one, other))


def _by_name(labels: tuple[str, ...], probabilities: FloatArray) -> dict[str, float]:
    return dict(zip(labels, np.round(probabilities, 5).tolist(), strict=True))


def _rounded(point: tuple[float, float]) -> list[float]:
    return [round(point[0], 2), round(point[1], 2)]
