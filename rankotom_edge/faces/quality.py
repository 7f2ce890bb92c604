"""How much of a face there is to read: size, sharpness, light, head turn, and what hides it.

A model's confidence is calibrated for faces like those it was measured on. A part is poor, below
one half, where it no longer is: FERPlus valid's faces made small, blurred, dark, flat or bright
show by how much surer than right the embedded model then is (``python -m train.experiments.damage``). The
limits are where that comes to about five points, unless a comment says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image

POOR = 0.5

# Between the eyes, in pixels of the picture: a face of half of FERPlus's pixels on a side.
POOR_EYES = 9.0
# Root mean square of the crop's second derivative in the direction where it is least, as motion
# blurs one direction alone, without what noise adds to it, over the crop's standard deviation: what
# a Gaussian of 1 pixel leaves in the middle, or a motion by 5.
POOR_SHARPNESS = 0.15
# The crop's mean: what an eighth of the light leaves in the middle. The model is too sure by five
# points only in a 28th, but a camera's pictures are noisier there than FERPlus's made dark.
POOR_LIGHT = 16.0
# The crop's standard deviation over its mean, which less light alone does not change: a quarter of
# the contrast.
POOR_CONTRAST = 0.11
# The share of the crop that is burnt out: between 1.5 and 2 times the light in the middle.
POOR_GLARE = 0.55
BURNT_OUT = 247
DOUBT, RELIEF = 0.2, 0.5  # seconds; the next look at a face that was missed comes after 0.15
# How far the nose is from between the eyes, in eye distances. It stands out by about half an eye
# distance, so that this is half the tangent of the turn: 50 degrees. By an embedded model before
# this one: FERPlus's faces that turn by up to 0.65 are as right as the model is confident, within
# 4.4 points; 14 beyond are not by 12.
POOR_TURN = 0.6
# The detector's score: a face that is followed but was not found again has 0. It does not tell a
# covered mouth: of LFW's faces 90 % have 0.77 to 0.92 bare and 0.72 to 0.86 with a hand before it,
# and one face's falls by 0.00 to 0.14 then (`python -m train.experiments.covered_mouths --every 4`).
POOR_SCORE = 0.6
# The share of the box that is inside the picture.
POOR_INSIDE = 0.75

# Across, down, and along both diagonals, each with what noise of variance 1 makes of it.
ACROSS = np.array([[0, 0, 0], [1, -2, 1], [0, 0, 0]], np.float32)
DIAGONAL = np.diag([1, -2, 1]).astype(np.float32) / np.float32(math.sqrt(2))
SECOND_DERIVATIVES = (
    (ACROSS, 6.0),
    (ACROSS.T.copy(), 6.0),
    (DIAGONAL, 3.0),
    (DIAGONAL[::-1].copy(), 3.0),
)
# What tells a mouth from a hand or a mask before it: how much the crop changes in each of four
# directions, in cells of a grid, each beside what there is around it. By `python -m train.experiments.covered_mouths`,
# which fits it on drawn covers, it calls hidden 1.7 % of FERPlus's bare faces (some are) and 0.2 %
# of LFW's; with a hand, fist, mask, scarf, mug or phone before the mouth 95 to 100 %, with a palm
# 88 to 92, with fingers across it 77 to 81, with a microphone 5, and 2 with a hand on one eye.
# Real hands are harder than drawn ones: expect half of them.
DIRECTIONS = np.arange(4, dtype=np.float32)[:, np.newaxis, np.newaxis]  # in eighths of a turn
MIRRORED = [0, 3, 2, 1]  # the same four in a mirror
GRID, CELL = 8, 6  # cells each way, and pixels of one
UPPER = 3  # rows of cells, to below the eyes, that are left out
LEAST_CHANGE = 2.0  # grey levels: less is noise
MOST_CHANGE = 1.5
# By row, column and direction, in tenths: what speaks for a cover. The columns are the left half's;
# the right half is added to it in a mirror. Together they are log odds, hidden above the limit.
MOUTH_WEIGHTS = np.array(
    [
        [[4, -3, -2, -3], [1, -4, 2, 0], [1, -2, 12, -2], [7, -3, 0, -4]],
        [[7, 0, 1, 3], [5, -2, 5, 2], [-1, -4, 8, -5], [3, 1, 7, -2]],
        [[-3, 3, 11, -8], [-6, 2, -1, -3], [2, 4, 4, -7], [-13, -12, -4, -23]],
        [[-6, -6, -11, -4], [3, 2, 5, 1], [7, -11, 5, -20], [-6, -21, -34, -28]],
        [[6, -12, 9, -3], [-3, -3, -4, -2], [2, 7, 0, -6], [-7, 4, -10, -22]],
    ],
    np.float32,
)
WEIGHTS_PER_ONE = 10
POOR_MOUTH = -99
# However sure it is: in the dark, in a blur and beyond the border there is no mouth either, and
# that is then the better reason.
HIDDEN = 0.49
OF_NOISE = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32)

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
    """Each from 0, nothing to see, to 1; the score is the least of the parts."""

    score: float
    size: float
    sharpness: float
    light: float
    pose: float
    whole: float  # the mouth not hidden, and the face found again
    contrast: float = 1.0
    glare: float = 1.0  # not burnt out
    inside: float = 1.0  # not cut off by the picture's border

    @property
    def reason(self) -> str | None:
        """Why it is poor, to finish "unsure: …"; None where it is good enough."""
        if self.score >= POOR:
            return None
        return REASONS[min(REASONS, key=lambda part: float(getattr(self, part)))]

    def reason_after(self, before: str | None, margin: float) -> str | None:
        """The same, but that the reason given before holds until its part is ``margin`` above
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
    seen = crop[0] if len(crop) == 1 else crop.mean(axis=0).astype(np.uint8)
    mean, deviation = (float(figure[0, 0]) for figure in cv2.meanStdDev(seen))
    burnt_out = float(np.count_nonzero(seen >= BURNT_OUT)) / seen.size
    return Quality.of(
        size=_part(_eyes(face), POOR_EYES),
        sharpness=_part(detail(seen) / max(deviation, 1.0), POOR_SHARPNESS),
        light=_part(mean, POOR_LIGHT),
        contrast=_part(deviation / max(mean, 1.0), POOR_CONTRAST),
        glare=_part(1 - burnt_out, 1 - POOR_GLARE),
        pose=max(0.0, 1 - POOR * turn(face) / POOR_TURN),
        whole=min(_part(face.score, POOR_SCORE), max(HIDDEN, _odds(-mouth_hidden(seen)))),
        inside=_past(inside(face, image), POOR_INSIDE),
    )


def detail(grey: Image) -> float:
    """Root mean square of the second derivative, in grey levels, where it is least of four
    directions and less what noise has part in it.

    The noise is what a filter sees that answers neither to edges nor to slopes (Immerkær 1996).
    """
    size = grey.size
    noise = float(cv2.norm(cv2.filter2D(grey, cv2.CV_32F, OF_NOISE), cv2.NORM_L1)) / size
    variance = math.pi / 2 * (noise / 6) ** 2
    least = min(
        float(cv2.norm(cv2.filter2D(grey, cv2.CV_32F, kernel))) ** 2 / size - share * variance
        for kernel, share in SECOND_DERIVATIVES
    )
    return math.sqrt(max(0.0, least))


def mouth_hidden(grey: Image) -> float:
    """How much a crop looks like one with something before the mouth: log odds, poor above 0."""
    spoken = float(np.vdot(MOUTH_WEIGHTS, edges_below(grey)))
    return (spoken - POOR_MOUTH) / WEIGHTS_PER_ONE


def edges_below(grey: Image) -> NDArray[np.float32]:
    """How much changes from the nose down: by row, column from the side to the middle, and
    direction, both halves of the face together; 1 is as much as around it."""
    side = GRID * CELL
    sized = grey if grey.shape == (side, side) else cv2.resize(grey, (side, side))
    strength, angle = cv2.cartToPolar(
        cv2.Sobel(sized, cv2.CV_32F, 1, 0, ksize=1), cv2.Sobel(sized, cv2.CV_32F, 0, 1, ksize=1)
    )
    seen = slice((UPPER - 1) * CELL, None)  # with the cells around the uppermost
    apart = np.abs(angle[seen] * np.float32(4 / math.pi) % 4 - DIRECTIONS)
    shares = np.maximum(0, 1 - np.minimum(apart, 4 - apart)) * strength[seen]
    changes = cv2.resize(
        cv2.merge(list(shares)), (GRID, GRID - UPPER + 1), interpolation=cv2.INTER_AREA
    )
    around = cv2.blur(np.square(changes).sum(axis=2), (3, 3), borderType=cv2.BORDER_REPLICATE)
    beside = np.sqrt(around + LEAST_CHANGE**2)[..., np.newaxis]
    lower = np.minimum(changes / beside, MOST_CHANGE)[1:]
    left, right = lower[:, : GRID // 2], lower[:, : GRID // 2 - 1 : -1]
    return np.asarray(left + right[..., MIRRORED], np.float32)


class Qualities:
    """Each face's quality over time: measured when the face is found, some seven times a second,
    and held in between. It turns poor when it has been so for ``DOUBT`` seconds, and good again
    after ``RELIEF``: a single look may err."""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}

    def update(
        self, track: int, face: Face, found: bool, time: float, image: Image, crop: Image
    ) -> Quality:
        known = self._known.get(track)
        if known is None or found or face.score != known.score:
            measured = measure_quality(image, face, crop)
        else:
            measured = known.measured
        if known is None or (known.shown.reason is None) == (measured.reason is None):
            shown, since = measured, None
        else:
            since = time if known.turned is None else known.turned
            wait = RELIEF if measured.reason is None else DOUBT
            waiting = 0 <= time - since < wait
            shown, since = (known.shown, since) if waiting else (measured, None)
        self._known[track] = _Known(face.score, measured, shown, since)
        return shown

    def keep(self, tracks: Iterable[int]) -> None:
        self._known = {track: self._known[track] for track in tracks}


class _Known(NamedTuple):
    score: float
    measured: Quality
    shown: Quality
    turned: float | None  # when what is measured became poor or good, and what is shown did not


def turn(face: Face) -> float:
    """How far the nose is from the middle between the eyes, along them, in eye distances."""
    apart = _eyes(face)
    if apart == 0:
        return math.inf
    along_x = (face.right_eye[0] - face.left_eye[0]) / apart
    along_y = (face.right_eye[1] - face.left_eye[1]) / apart
    from_x = face.nose[0] - (face.left_eye[0] + face.right_eye[0]) / 2
    from_y = face.nose[1] - (face.left_eye[1] + face.right_eye[1]) / 2
    return abs(from_x * along_x + from_y * along_y) / apart


def inside(face: Face, image: Image) -> float:
    """The share of the face's box that the picture holds."""
    x, y, width, height = face.box
    picture_height, picture_width = image.shape[:2]
    across = min(x + width, picture_width) - max(x, 0)
    down = min(y + height, picture_height) - max(y, 0)
    area = width * height
    return max(0.0, across) * max(0.0, down) / area if area > 0 else 0.0


def _eyes(face: Face) -> float:
    return math.dist(face.left_eye, face.right_eye)


def _part(value: float, poor: float) -> float:
    """From 0 at 0 by POOR at ``poor`` to 1."""
    return min(1.0, max(0.0, POOR * value / poor))


def _odds(log_odds: float) -> float:
    """As a share, POOR at even odds."""
    return 1 / (1 + math.exp(-log_odds))


def _past(share: float, poor: float) -> float:
    """From 0, as far below ``poor`` as 1 is above it."""
    return min(1.0, max(0.0, 1 - (1 - POOR) * (1 - share) / (1 - poor)))
