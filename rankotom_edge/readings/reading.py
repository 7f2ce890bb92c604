"""What the program says of a face: the expression seen, a blend of two, or that it is unsure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calib.arrays import FloatArray, as_classes
from calib.json_fields import as_list, as_mapping, count, number, share, text_or_none
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import REASONS, UNREADABLE, Quality
from rankotom_edge.faces.tracker import TrackedFace
from rankotom_edge.frame import Image
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.blend import Blend, find_blend, make_blend
from rankotom_edge.readings.prediction_set import SetRule

Verdict: TypeAlias = Literal["sure", "unsure"]
FARTHEST = 1e6  # pixels from the corner of a picture, in a stored reading
POINTS = ("left_eye", "right_eye", "nose", "mouth")

# Hysteresis, so that a headline does not flicker at a threshold; chosen by eye. "Sure" has none
# when it is lost, so that the error budget is kept; it takes more to be sure again.
SURE_MARGIN = 0.05
POOR_MARGIN = 0.08
# Seconds before a new blend is named; chosen by eye. Between two expressions there is often a
# blend for a frame or two, too short to read.
BLEND_DELAY = 0.15
RARE_BLEND_DELAY = 1.0  # for two that people hardly ever see together


class PendingBlend(NamedTuple):
    """A blend that is seen but not yet named."""

    emotions: frozenset[str]
    since: float


@dataclass(frozen=True, eq=False)
class Reading:
    """One face of one frame: its probabilities and the verdict."""

    track: int
    face: Face
    quality: Quality
    labels: tuple[str, ...]
    probabilities: FloatArray  # (k,), smoothed over time
    raw: FloatArray  # (k,), of this frame alone
    blend: Blend | None
    verdict: Verdict
    reason: str | None  # why it is unsure
    crop: Image | None = None  # as the network saw it; not recorded
    evidence: NDArray[np.float32] | None = None  # (k, height, width); not recorded
    needed: float = 0.0  # the confidence that the error budget asks for
    poor: str | None = None  # why the crop is poor; None if it is not
    unreadable: str | None = None  # why confidence does not count, where it is that poor
    pending: PendingBlend | None = None
    set_rule: SetRule | None = None  # None where the model has no prediction sets

    @property
    def top(self) -> str:
        return self.labels[int(self.probabilities.argmax())]

    @property
    def confidence(self) -> float:
        return float(self.probabilities.max())

    @property
    def expressions(self) -> tuple[str, ...]:
        """The prediction set, likeliest first. Empty where the model has none, or the crop is poor:
        the model was measured on clear faces."""
        if self.set_rule is None or self.poor is not None or self.unreadable is not None:
            return ()
        return self.set_rule.expressions(self.labels, self.probabilities)

    def as_json(self) -> dict[str, object]:
        """A face in a line of ``--json`` (docs/schema.md). ``points``, ``quality_parts`` and
        ``needed`` are there so that a recording can be shown and cropped again."""
        face, blend = self.face, self.blend
        rule = self.set_rule
        parts = dict(vars(self.quality))  # dataclasses.asdict copies deeply: half of the cost
        score = round(parts.pop("score"), 3)
        return {
            "track": self.track,
            "box": [round(number, 1) for number in face.box],
            "points": {name: [round(at, 2) for at in getattr(face, name)] for name in POINTS},
            "score": round(face.score, 3),
            "probabilities": _by_name(self.labels, self.probabilities),
            "raw": _by_name(self.labels, self.raw),
            "top": self.top,
            "confidence": round(self.confidence, 5),
            "blend": None if blend is None else [blend.first, blend.second],
            "blend_name": None if blend is None else blend.name,
            "verdict": self.verdict,
            "reason": self.reason,
            "unreadable": self.unreadable,
            "needed": round(self.needed, 5),
            "set": list(self.expressions) or None,
            "set_coverage": None if rule is None else round(rule.coverage, 5),
            "set_mass": None if rule is None else rule.mass,
            "quality": score,
            "quality_parts": {name: round(value, 3) for name, value in parts.items()},
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Reading:
        """As it was recorded: the verdict is not computed again."""
        labels = as_classes([*as_mapping(saved["probabilities"])], len(saved["probabilities"]))
        probabilities, raw = (
            np.array([share(as_mapping(saved[bars]), name) for name in labels], np.float64)
            for bars in ("probabilities", "raw")
        )
        if not labels:
            raise ValueError("it has no probabilities")
        points = {name: _pixels(saved["points"][name], 2) for name in POINTS}
        blend = None
        if saved["blend"] is not None:
            first, second = (labels.index(name) for name in as_list(saved["blend"]))
            blend = make_blend(labels, probabilities, first, second)
        x, y, width, height = _pixels(saved["box"], 4)
        if min(width, height) < 0:
            raise ValueError(f"its box is {width} x {height}")
        parts = as_mapping(saved["quality_parts"])
        quality = Quality(share(saved, "quality"), **{name: share(parts, name) for name in parts})
        rule = None
        if saved.get("set_mass") is not None:
            rule = SetRule(share(saved, "set_mass"), share(saved, "set_coverage"))
        reason, verdict = text_or_none(saved, "reason"), saved["verdict"]
        if verdict not in ("sure", "unsure"):
            raise ValueError(f"its verdict is {verdict!r:.40}")
        named = reason if reason in REASONS.values() else None
        return cls(
            track=count(saved, "track"),
            face=Face((x, y, width, height), **points, score=share(saved, "score")),
            quality=quality,
            labels=labels,
            probabilities=probabilities,
            raw=raw,
            blend=blend,
            verdict=verdict,
            reason=reason,
            needed=share(saved, "needed"),
            poor=named or quality.reason,
            # Before, every poor crop was unreadable.
            unreadable=text_or_none(saved, "unreadable") if "unreadable" in saved else named,
            set_rule=rule,
        )


def _pixels(saved: object, count: int) -> Any:
    found = tuple(number({"a place": at}, "a place") for at in as_list(saved))
    if len(found) != count or not all(abs(at) <= FARTHEST for at in found):
        raise ValueError(f"{saved!r:.80} is not {count} numbers of pixels")
    return found


def read_expression(
    tracked: TrackedFace,
    *,
    labels: tuple[str, ...],
    raw: FloatArray,
    probabilities: FloatArray,
    quality: Quality,
    needed: float,
    set_rule: SetRule | None = None,
    unreadable_below: float = UNREADABLE,
    crop: Image | None = None,
    evidence: NDArray[np.float32] | None = None,
    before: Reading | None = None,
    time: float = 0.0,
) -> Reading:
    """``needed`` is the confidence that the error budget asks for (``error_budget``),
    ``unreadable_below`` the quality that is too low for any confidence, and ``before`` the reading
    of the same face in the frame before."""
    was_unsure = before is not None and before.verdict == "unsure"
    margin = min(SURE_MARGIN, (1 - needed) / 2) if was_unsure else 0.0
    was_poor, was_unreadable = (before.poor, before.unreadable) if before else (None, None)
    poor = quality.reason_after(was_poor, POOR_MARGIN)
    unreadable = quality.unreadable_after(was_unreadable, POOR_MARGIN, unreadable_below)
    doubt = unsure_reason(float(probabilities.max()), needed, margin)
    reason = choose_reason(unreadable, poor, doubt)
    blend = find_blend(probabilities, labels, None if before is None else before.blend)
    pending = None if blend is None else _pending_blend(blend, before, time)
    return Reading(
        track=tracked.track,
        face=tracked.face,
        quality=quality,
        labels=labels,
        probabilities=probabilities,
        raw=raw,
        blend=blend if pending is None else None,
        pending=pending,
        verdict="sure" if reason is None else "unsure",
        reason=reason,
        crop=crop,
        evidence=evidence,
        needed=needed,
        poor=poor,
        unreadable=unreadable,
        set_rule=set_rule,
    )


def _pending_blend(blend: Blend, before: Reading | None, time: float) -> PendingBlend | None:
    """None once the blend may be named: it was before, or has lasted long enough. A face's first
    reading waits only for a rare one."""
    if before is None:
        return PendingBlend(blend.emotions, time) if blend.is_rare else None
    if before.blend is not None and before.blend.emotions == blend.emotions:
        return None
    is_known = before.pending is not None and before.pending.emotions == blend.emotions
    since = before.pending.since if before.pending is not None and is_known else time
    delay = RARE_BLEND_DELAY if blend.is_rare else BLEND_DELAY
    return PendingBlend(blend.emotions, since) if 0 <= time - since < delay else None


def with_smoothing(reading: Reading, smoothed: bool) -> Reading:
    """The reading as it is, or made again from the probabilities of its frame alone. One frame is
    too short for a rare blend."""
    if smoothed:
        return reading
    blend = find_blend(reading.raw, reading.labels)
    doubt = unsure_reason(float(reading.raw.max()), reading.needed)
    reason = choose_reason(reading.unreadable, reading.poor, doubt)
    return replace(
        reading,
        probabilities=reading.raw,
        blend=None if blend is not None and blend.is_rare else blend,
        verdict="sure" if reason is None else "unsure",
        reason=reason,
    )


def bar_reliability(reading: Reading, index: int, reliability: Reliability) -> float | None:
    """How often the model was right with a bar of this height. None where the crop is poor: the
    model was measured on clear faces."""
    if reading.poor is not None:
        return None
    return reliability.at(float(reading.probabilities[index]), reading.labels[index] == reading.top)


def choose_reason(unreadable: str | None, poor: str | None, doubt: str | None) -> str | None:
    """Why a reading is unsure: an unreadable face always, a poor one where there is doubt."""
    if unreadable is not None or doubt is None:
        return unreadable
    return poor or doubt


def unsure_reason(confidence: float, needed: float, margin: float = 0.0) -> str | None:
    """None where it is sure; ``margin`` is needed on top of ``needed``."""
    if confidence >= needed + margin:
        return None
    shown, asked = min(99, round(100 * confidence)), min(99, round(100 * needed))
    return f"{shown} % sure, {f'{asked} % needed' if shown < asked else 'at the limit'}"


def _by_name(labels: tuple[str, ...], probabilities: FloatArray) -> dict[str, float]:
    return dict(zip(labels, np.round(probabilities, 5).tolist(), strict=True))
