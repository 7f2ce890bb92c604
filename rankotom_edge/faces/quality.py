"""How readable a face is: its size, sharpness, light and pose, and what hides it.

A model's confidence is calibrated for faces like those it was measured on. ``python -m
train.experiments.damage`` makes FERPlus valid's faces small, blurred, dark, flat or bright and
prints how overconfident the embedded model then is. A part is poor, below one half, where that
reaches about five points, unless a comment says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np

from rankotom_edge.faces.covered_mouth import cover_log_odds
from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image

POOR = 0.5

# Pixels between the eyes: half of those in a face of FERPlus.
POOR_EYE_DISTANCE = 9.0
# Detail (see ``measure_detail``) over the crop's standard deviation: what the median face has left
# after a Gaussian blur of 1 pixel, or a motion blur of 5.
POOR_SHARPNESS = 0.15
# The crop's mean: what an eighth of the light leaves of the median face. The model is five
# points overconfident only at a 28th, but a camera's dark pictures are noisier than darkened ones.
POOR_LIGHT = 16.0
# The crop's standard deviation over its mean, which less light alone does not change: a quarter of
# the contrast.
POOR_CONTRAST = 0.11
# The share of the crop that is overexposed: the median face in 1.5 to 2 times the light.
POOR_GLARE = 0.55
OVEREXPOSED = 247  # grey level; chosen by eye
# How far the nose is from between the eyes, in eye distances: about 50 degrees. Chosen by eye.
POOR_TURN = 0.6
# The detector's score, chosen by eye; 0 for a face that is followed but was not detected again. It
# does not reveal a covered mouth: the scores of bare and covered faces overlap
# (`python -m train.experiments.covered_mouths --every 4`).
POOR_SCORE = 0.6
# The share of the box inside the picture. Chosen by eye.
POOR_INSIDE = 0.75
# A covered mouth never lowers the quality below this: in the dark, in a blur and beyond the border
# no mouth is seen either, and then that is the better reason.
COVERED = 0.49

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


@dataclass(frozen=True)
class Quality:
    """Each part from 0, unreadable, to 1; the score is the lowest part."""

    score: float
    size: float
    sharpness: float
    light: float
    pose: float
    whole: float  # the mouth is not covered, and the face was detected again
    contrast: float = 1.0
    glare: float = 1.0  # not overexposed
    inside: float = 1.0  # not cut off by the picture's border

    @property
    def reason(self) -> str | None:
        """Why it is poor, to complete "unsure: …"; None where it is good enough."""
        if self.score >= POOR:
            return None
        return REASONS[min(REASONS, key=lambda part: float(getattr(self, part)))]

    def reason_after(self, before: str | None, margin: float) -> str | None:
        """The same, with hysteresis: an earlier reason holds until its part is ``margin`` above
        poor."""
        for part, reason in REASONS.items():
            if reason == before and getattr(self, part) < POOR + margin:
                return reason
        return self.reason

    @classmethod
    def of(cls, **parts: float) -> Quality:
        return cls(score=min(parts.values()), **parts)


def measure_quality(image: Image, face: Face, crop: Image) -> Quality:
    """``crop`` is the face as the network sees it: (channels, size, size)."""
    grey = crop[0] if len(crop) == 1 else crop.mean(axis=0).astype(np.uint8)
    mean, deviation = (float(value[0, 0]) for value in cv2.meanStdDev(grey))
    overexposed = float(np.count_nonzero(grey >= OVEREXPOSED)) / grey.size
    uncovered = 1 / (1 + math.exp(cover_log_odds(grey)))
    return Quality.of(
        size=_rate(_eye_distance(face), POOR_EYE_DISTANCE),
        sharpness=_rate(measure_detail(grey) / max(deviation, 1.0), POOR_SHARPNESS),
        light=_rate(mean, POOR_LIGHT),
        contrast=_rate(deviation / max(mean, 1.0), POOR_CONTRAST),
        glare=_rate(1 - overexposed, 1 - POOR_GLARE),
        pose=max(0.0, 1 - POOR * head_turn(face) / POOR_TURN),
        whole=min(_rate(face.score, POOR_SCORE), max(COVERED, uncovered)),
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
    second, and kept in between. A change to poor is shown after ``POOR_AFTER`` seconds, a change to
    good after ``GOOD_AFTER``: a single measurement may be wrong."""

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
        if known is None or (known.shown.reason is None) == (measured.reason is None):
            shown, since = measured, None
        else:
            since = time if known.changed_at is None else known.changed_at
            delay = GOOD_AFTER if measured.reason is None else POOR_AFTER
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
    changed_at: float | None  # when the measured quality became poor or good, but not the shown one
