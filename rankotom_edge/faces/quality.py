"""How readable a face is: its size, sharpness, light and pose, and what hides it.

The embedded model itself is less confident where there is less to see: ``python -m
train.experiments.damage`` makes FERPlus valid's faces small, blurred, dark, flat or bright and
prints how confident it then is and how often right. So a poor part, below one half, does not make a
reading unsure; it is the reason where the model is not confident. Only beyond that table, and for
faces that are turned, lost or cut off, is a reading unsure whatever the model says.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np

from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image

POOR = 0.5  # a part below this is named as the reason where the model is not confident
UNREADABLE = 0.13  # the worst rows of the damage table; a face below this is always unsure

# Size, sharpness, contrast and glare: where an earlier model, which had not seen damaged faces, was
# about five points overconfident (docs/results.md before this model, in the git history).
# Pixels between the eyes: half of those in a face of FERPlus.
POOR_EYE_DISTANCE = 9.0
# Detail (see ``measure_detail``) over the crop's standard deviation: what the median face has left
# after a Gaussian blur of 1 pixel, or a motion blur of 5.
POOR_SHARPNESS = 0.15
# The crop's mean: what an eighth of the light leaves of the median face.
POOR_LIGHT = 16.0
# The crop's standard deviation over its mean, which less light alone does not change: a quarter of
# the contrast.
POOR_CONTRAST = 0.11
# The share of the crop that is overexposed: the median face in 1.5 to 2 times the light.
POOR_GLARE = 0.55
OVEREXPOSED = 247  # grey level; chosen by eye
# How far the nose is from between the eyes, in eye distances: about 50 degrees. Chosen by eye.
POOR_TURN = 0.6
# The detector's score, chosen by eye; 0 for a face that is followed but was not detected again.
POOR_SCORE = 0.6
# The share of the box inside the picture. Chosen by eye.
POOR_INSIDE = 0.75
# Seconds before a change is shown; chosen by eye. A missed face is checked again after 0.15 s.
POOR_AFTER, GOOD_AFTER = 0.2, 0.5

# Across, down, and along both diagonals, each with its response to noise of variance 1.
ACROSS = np.array([[0, 0, 0], [1, -2, 1], [0, 0, 0]], np.float32)
DIAGONAL = np.diag([1, -2, 1]).astype(np.float32) / np.float32(math.sqrt(2))
SECOND_DERIVATIVES = (
    (ACROSS, 6.0),
    (ACROSS.T.copy(), 6.0),
    (DIAGONAL, 3.0),
    (DIAGONAL[::-1].copy(), 3.0),
)
NOISE_FILTER = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32)

REASONS = {
    "size": "too small",
    "sharpness": "blurred",
    "light": "too dark",
    "contrast": "too little contrast",
    "glare": "too bright",
    "pose": "turned away",
    "whole": "partly hidden",
    "inside": "cut off",
}
# The damage table has no faces that are turned, lost or cut off, so there poor is unreadable.
UNMEASURED = ("pose", "whole", "inside")


@dataclass(frozen=True)
class Quality:
    """Each part from 0, unreadable, to 1; the score is the lowest part."""

    score: float
    size: float
    sharpness: float
    light: float
    pose: float
    whole: float  # the face was detected again, and clearly
    contrast: float = 1.0
    glare: float = 1.0  # not overexposed
    inside: float = 1.0  # not cut off by the picture's border

    @property
    def reason(self) -> str | None:
        """Why it is poor, to complete "unsure: …"; None where it is good enough."""
        return self.reason_after(None, 0.0)

    def reason_after(self, before: str | None, margin: float) -> str | None:
        """The same, with hysteresis: an earlier reason holds until its part is ``margin`` above
        poor."""
        return self._reason_below(dict.fromkeys(REASONS, POOR), before, margin)

    def unreadable_after(self, before: str | None, margin: float, limit: float) -> str | None:
        """Why it is unsure however confident the model is; ``limit`` is UNREADABLE, or POOR for a
        model that was not trained on damaged faces."""
        limits = {part: POOR if part in UNMEASURED else limit for part in REASONS}
        return self._reason_below(limits, before, margin)

    def _reason_below(
        self, limits: Mapping[str, float], before: str | None, margin: float
    ) -> str | None:
        values = {part: float(getattr(self, part)) for part in limits}
        for part, limit in limits.items():
            if REASONS[part] == before and values[part] < limit + margin:
                return before
        below = [part for part, limit in limits.items() if values[part] < limit]
        return REASONS[min(below, key=values.__getitem__)] if below else None

    @property
    def grade(self) -> int:
        """2 where it is good, 1 where it is poor, 0 where it is turned, lost or cut off."""
        if self.score >= POOR:
            return 2
        return 0 if any(getattr(self, part) < POOR for part in UNMEASURED) else 1

    @classmethod
    def of(cls, **parts: float) -> Quality:
        return cls(score=min(parts.values()), **parts)


def measure_quality(image: Image, face: Face, crop: Image) -> Quality:
    """``crop`` is the face as the network sees it: (channels, size, size)."""
    grey = crop[0] if len(crop) == 1 else crop.mean(axis=0).astype(np.uint8)
    mean, deviation = (float(value[0, 0]) for value in cv2.meanStdDev(grey))
    overexposed = float(np.count_nonzero(grey >= OVEREXPOSED)) / grey.size
    return Quality.of(
        size=_rate(_eye_distance(face), POOR_EYE_DISTANCE),
        sharpness=_rate(measure_detail(grey) / max(deviation, 1.0), POOR_SHARPNESS),
        light=_rate(mean, POOR_LIGHT),
        contrast=_rate(deviation / max(mean, 1.0), POOR_CONTRAST),
        glare=_rate(1 - overexposed, 1 - POOR_GLARE),
        pose=max(0.0, 1 - POOR * head_turn(face) / POOR_TURN),
        whole=_rate(face.score, POOR_SCORE),
        inside=_rate_from_top(share_inside(face, image), POOR_INSIDE),
    )


def measure_detail(grey: Image) -> float:
    """Root mean square of the second derivative, in grey levels, in the direction where it is
    lowest, because motion blurs one direction only; without the part that noise adds.

    The noise is measured by a filter that responds neither to edges nor to slopes (Immerkær 1996).
    """
    size = grey.size
    noise = float(cv2.norm(cv2.filter2D(grey, cv2.CV_32F, NOISE_FILTER), cv2.NORM_L1)) / size
    variance = math.pi / 2 * (noise / 6) ** 2
    lowest = min(
        float(cv2.norm(cv2.filter2D(grey, cv2.CV_32F, kernel))) ** 2 / size - share * variance
        for kernel, share in SECOND_DERIVATIVES
    )
    return math.sqrt(max(0.0, lowest))


def head_turn(face: Face) -> float:
    """How far the nose is from the middle between the eyes, along them, in eye distances."""
    left, right = complex(*face.left_eye), complex(*face.right_eye)
    if left == right:
        return math.inf
    return abs(((complex(*face.nose) - (left + right) / 2) / (right - left)).real)


def share_inside(face: Face, image: Image) -> float:
    """The share of the face's box that is inside the picture."""
    x, y, width, height = face.box
    picture_height, picture_width = image.shape[:2]
    across = min(x + width, picture_width) - max(x, 0)
    down = min(y + height, picture_height) - max(y, 0)
    area = width * height
    return max(0.0, across) * max(0.0, down) / area if area > 0 else 0.0


def _eye_distance(face: Face) -> float:
    return math.dist(face.left_eye, face.right_eye)


def _rate(value: float, poor: float) -> float:
    """0 at 0, POOR at ``poor``, and at most 1."""
    return min(1.0, max(0.0, POOR * value / poor))


def _rate_from_top(share: float, poor: float) -> float:
    """1 at 1, POOR at ``poor``, and at least 0."""
    return min(1.0, max(0.0, 1 - (1 - POOR) * (1 - share) / (1 - poor)))


class QualityHistory:
    """Each face's quality over time. It is measured when the face is detected, about seven times a
    second, and kept in between. A change to a worse grade is shown after ``POOR_AFTER`` seconds, to
    a better one after ``GOOD_AFTER``: a single measurement may be wrong."""

    def __init__(self) -> None:
        self._known: dict[int, _LastQuality] = {}

    def update(
        self, track: int, face: Face, detected: bool, time: float, image: Image, crop: Image
    ) -> Quality:
        known = self._known.get(track)
        if known is None or detected or face.score != known.score:
            measured = measure_quality(image, face, crop)
        else:
            measured = known.measured
        if known is None or known.shown.grade == measured.grade:
            shown, since = measured, None
        else:
            since = time if known.changed_at is None else known.changed_at
            delay = GOOD_AFTER if measured.grade > known.shown.grade else POOR_AFTER
            waiting = 0 <= time - since < delay
            shown, since = (known.shown, since) if waiting else (measured, None)
        self._known[track] = _LastQuality(face.score, measured, shown, since)
        return shown

    def forget_others(self, tracks: Iterable[int]) -> None:
        """Forget the other tracks."""
        self._known = {track: self._known[track] for track in tracks}


class _LastQuality(NamedTuple):
    score: float
    measured: Quality
    shown: Quality
    changed_at: float | None  # when the measured grade changed, but not the shown one
