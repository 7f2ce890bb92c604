"""The crop contract: the network sees a face in one framing, in training and live."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from calib.errors import RankotomError
from rankotom_edge.faces import Face, Image, Point

FloatArray = NDArray[np.float64]
Channels = Literal[1, 3]
PIXEL_CENTRE = 0.5 + 0.5j


@dataclass(frozen=True)
class Framing:
    """Where the eyes and the mouth sit in the crop, as fractions of its width and height."""

    left_eye: Point
    right_eye: Point
    mouth: Point

    @property
    def points(self) -> FloatArray:
        return np.array([self.left_eye, self.right_eye, self.mouth], dtype=np.float64)

    def as_json(self) -> dict[str, list[float]]:
        return {
            "left_eye": list(self.left_eye),
            "right_eye": list(self.right_eye),
            "mouth": list(self.mouth),
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, object]) -> Framing:
        return cls(
            *(_saved_point(saved, name) for name in ("left_eye", "right_eye", "mouth")),
        )


def _saved_point(saved: Mapping[str, object], name: str) -> Point:
    point = saved.get(name)
    if (
        not isinstance(point, (list, tuple))
        or len(point) != 2
        or not all(isinstance(value, (int, float)) and math.isfinite(value) for value in point)
    ):
        raise RankotomError(
            f"The crop contract needs {name} as two fractions [x, y]; it says {point!r}. "
            "The model file is damaged or from another version: export it again."
        )
    return float(point[0]), float(point[1])


# Measured by `python -m train.align` over FERPlus train: 28,407 of 28,556 faces found (99.5 %),
# spread (interquartile, as a standard deviation) 0.04 to 0.06 of the crop. The slant of the eyes is
# kept: MediaPipe sees it in LFW's photographs too (-0.6 degrees; here -0.9), so live faces have it.
FERPLUS_FRAMING = Framing(left_eye=(0.316, 0.405), right_eye=(0.685, 0.399), mouth=(0.507, 0.782))


def similarity(source: FloatArray, target: FloatArray) -> FloatArray:
    """The rotation, scale and shift that best carries ``source`` points to ``target``, as 2x3."""
    return _matrix(*_turn_and_shift(source.tolist(), target.tolist()))


def crop(image: Image, face: Face, framing: Framing, size: int, channels: Channels) -> Image:
    """The face as the network sees it: (channels, size, size), grey or RGB.

    A large face is first drawn at about its own resolution and then averaged down in whole blocks,
    so that shrinking does not alias; beyond the picture its border is repeated.
    """
    turn, shift = _turn_and_shift(
        (face.left_eye, face.right_eye, face.mouth),
        [(x * size, y * size) for x, y in (framing.left_eye, framing.right_eye, framing.mouth)],
    )
    blocks = max(1, math.ceil(1 / abs(turn)))
    turn, side = turn * blocks, size * blocks
    # warpAffine counts from the first pixel's centre, our points from its corner.
    shift = shift * blocks + turn * PIXEL_CENTRE - PIXEL_CENTRE
    part, corner = _part_drawn(image, turn, shift, side)
    drawn = cv2.warpAffine(
        cv2.cvtColor(part, cv2.COLOR_BGR2GRAY) if channels == 1 else part,
        _matrix(turn, shift + turn * corner),
        (side, side),
        flags=cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return resized(np.asarray(drawn, dtype=np.uint8), size, channels)


def _turn_and_shift(source: Sequence[Point], target: Sequence[Point]) -> tuple[complex, complex]:
    """t = turn s + shift, with points as complex numbers: turn rotates and scales.

    Least squares over the points (Umeyama 1991, without reflection). In the plane it has a closed
    form: centred, turn is the one number sum(conj(s) t) / sum(|s|^2). In plain numbers, for numpy
    takes ten times as long over three points, at every frame.
    """
    s, t = [complex(*point) for point in source], [complex(*point) for point in target]
    s_centre, t_centre = sum(s) / len(s), sum(t) / len(t)
    spread = sum(abs(point - s_centre) ** 2 for point in s)
    if spread == 0:
        raise RankotomError(
            "This face cannot be aligned: its eyes and mouth are one point. "
            "The detector was wrong here; skip the face."
        )
    pairs = zip(s, t, strict=True)
    turn = sum((a - s_centre).conjugate() * (b - t_centre) for a, b in pairs) / spread
    return turn, t_centre - turn * s_centre


def _matrix(turn: complex, shift: complex) -> FloatArray:
    return np.array([[turn.real, -turn.imag, shift.real], [turn.imag, turn.real, shift.imag]])


def _part_drawn(image: Image, turn: complex, shift: complex, side: int) -> tuple[Image, complex]:
    """The part of the picture that a square of ``side`` is drawn from, and its upper left corner.

    To turn this part grey first and draw one channel takes a third of drawing all three.
    """
    height, width = image.shape[:2]
    corners = [(drawn - shift) / turn for drawn in (0, side, side * 1j, side + side * 1j)]
    across, down = [corner.real for corner in corners], [corner.imag for corner in corners]
    # A face wholly beyond the border is drawn from the border's last pixels.
    left = min(max(math.floor(min(across)) - 2, 0), width - 1)
    top = min(max(math.floor(min(down)) - 2, 0), height - 1)
    right = max(min(math.ceil(max(across)) + 3, width), left + 1)
    bottom = max(min(math.ceil(max(down)) + 3, height), top + 1)
    return image[top:bottom, left:right], complex(left, top)


def resized(image: Image, size: int, channels: Channels) -> Image:
    """A picture, BGR or grey, that is framed already, as the network sees it."""
    interpolation = cv2.INTER_AREA if max(image.shape[:2]) > size else cv2.INTER_LINEAR
    sized = cv2.resize(image, (size, size), interpolation=interpolation)
    if channels == 1:
        grey = sized if sized.ndim == 2 else cv2.cvtColor(sized, cv2.COLOR_BGR2GRAY)
        planes = grey[np.newaxis]
    else:
        planes = cv2.cvtColor(sized, cv2.COLOR_BGR2RGB).transpose(2, 0, 1)
    return np.ascontiguousarray(planes, dtype=np.uint8)
