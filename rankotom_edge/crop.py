"""The crop contract: the network sees a face in one framing, in training and live."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from calib.errors import RankotomError
from rankotom_edge.faces import Face, Image, Point

FloatArray = NDArray[np.float64]
Channels = Literal[1, 3]


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
    """The rotation, scale and shift that best carries ``source`` points to ``target``, as 2x3.

    Least squares over the points (Umeyama 1991, without reflection). In the plane it has a closed
    form: with points as centred complex numbers s and t, rotation and scale are the one number
    sum(conj(s) t) / sum(|s|^2).
    """
    source_centre, target_centre = source.mean(axis=0), target.mean(axis=0)
    s = (source - source_centre) @ np.array([1, 1j])
    t = (target - target_centre) @ np.array([1, 1j])
    spread = float(np.sum(np.abs(s) ** 2))
    if spread == 0:
        raise RankotomError(
            "This face cannot be aligned: its eyes and mouth are one point. "
            "The detector was wrong here; skip the face."
        )
    turn = np.sum(np.conj(s) * t) / spread
    linear = np.array([[turn.real, -turn.imag], [turn.imag, turn.real]])
    return np.column_stack([linear, target_centre - linear @ source_centre])


def crop(image: Image, face: Face, framing: Framing, size: int, channels: Channels) -> Image:
    """The face as the network sees it: (channels, size, size), grey or RGB.

    A large face is first drawn at about its own resolution and then averaged down in whole blocks,
    so that shrinking does not alias; beyond the picture its border is repeated.
    """
    source = np.array([face.left_eye, face.right_eye, face.mouth], dtype=np.float64)
    to_crop = similarity(source, framing.points * size)
    scale = math.hypot(to_crop[0, 0], to_crop[1, 0])
    blocks = max(1, math.ceil(1 / scale))
    matrix = to_crop * blocks
    # warpAffine counts from the first pixel's centre, our points from its corner.
    matrix[:, 2] += matrix[:, :2] @ [0.5, 0.5] - 0.5
    drawn = cv2.warpAffine(
        image,
        matrix,
        (size * blocks, size * blocks),
        flags=cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return resized(np.asarray(drawn, dtype=np.uint8), size, channels)


def resized(image: Image, size: int, channels: Channels) -> Image:
    """A BGR picture that is framed already, as the network sees it: (channels, size, size)."""
    interpolation = cv2.INTER_AREA if max(image.shape[:2]) > size else cv2.INTER_LINEAR
    sized = cv2.resize(image, (size, size), interpolation=interpolation)
    if channels == 1:
        planes = cv2.cvtColor(sized, cv2.COLOR_BGR2GRAY)[np.newaxis]
    else:
        planes = cv2.cvtColor(sized, cv2.COLOR_BGR2RGB).transpose(2, 0, 1)
    return np.ascontiguousarray(planes, dtype=np.uint8)
