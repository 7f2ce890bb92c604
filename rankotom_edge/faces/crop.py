"""Cuts a face out of a picture, in the one framing that the network sees in training and live."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np

from calib.arrays import FloatArray
from calib.errors import RankotomError
from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image
from rankotom_edge.geometry import Point, Similarity, align_points

Channels = Literal[1, 3]
MAX_BLOCKS = 2  # drawn pixels per pixel of the crop, each way; chosen by eye


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
        return cls(*(_saved_point(saved, name) for name in ("left_eye", "right_eye", "mouth")))


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


# The median face of FERPlus train, as `python -m train.data.framing` prints it. The slight slant of
# the eyes is kept: MediaPipe finds it in live faces too.
FERPLUS_FRAMING = Framing(left_eye=(0.316, 0.405), right_eye=(0.685, 0.399), mouth=(0.507, 0.782))


def crop(image: Image, face: Face, framing: Framing, size: int, channels: Channels) -> Image:
    """The face as the network sees it: (channels, size, size), grey or RGB. ``image`` is BGR, or
    grey where the network sees no colours.

    A face is drawn at two thirds of its own resolution or more and then averaged down in whole
    blocks, which leaves little aliasing. A large face is first averaged to about the size of the
    blocks, so that it costs little more. Beyond the picture its border is repeated.
    """
    turn, shift = align_points(
        (face.left_eye, face.right_eye, face.mouth),
        [(x * size, y * size) for x, y in (framing.left_eye, framing.right_eye, framing.mouth)],
    )
    scale = 1 / abs(turn)  # pixels of the picture in a pixel of the crop, each way
    blocks = min(MAX_BLOCKS, max(1, math.ceil(scale)))
    step = max(1, min(int(scale / blocks + 0.5), *image.shape[:2]))
    side = size * blocks
    drawing = Similarity(turn * blocks, shift * blocks)
    part, corner = _part_drawn(image, drawing.inverse, side, step)
    if channels == 1 and part.ndim == 3:
        part = np.asarray(cv2.cvtColor(part, cv2.COLOR_BGR2GRAY), dtype=np.uint8)
    if step > 1:
        few = (part.shape[1] // step, part.shape[0] // step)
        part = np.asarray(cv2.resize(part, few, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    from_part = Similarity(drawing.turn * step, drawing.shift + drawing.turn * corner)
    drawn = cv2.warpAffine(
        part,
        from_part.from_pixel_centres.matrix,
        (side, side),
        flags=cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return resize_framed(np.asarray(drawn, dtype=np.uint8), size, channels)


def _part_drawn(image: Image, back: Similarity, side: int, step: int) -> tuple[Image, complex]:
    """The part of the picture that a square of ``side`` is drawn from, in whole blocks of
    ``step`` pixels, and its upper left corner.

    To convert this part to grey and draw one channel takes a third of the time of drawing three.
    """
    height, width = image.shape[:2]
    corners = [back.apply(drawn) for drawn in ((0, 0), (side, 0), (0, side), (side, side))]
    across, down = zip(*corners, strict=True)
    # A face entirely beyond the border is drawn from the last pixels at the border.
    margin = 3 * step
    left = min(max(math.floor(min(across)) - margin, 0), width - step)
    top = min(max(math.floor(min(down)) - margin, 0), height - step)
    right = max(min(math.ceil(max(across)) + margin, width), left + step)
    bottom = max(min(math.ceil(max(down)) + margin, height), top + step)
    columns, rows = (right - left) // step * step, (bottom - top) // step * step
    return image[top : top + rows, left : left + columns], complex(left, top)


def resize_framed(image: Image, size: int, channels: Channels) -> Image:
    """A picture, BGR or grey, that already has the framing, as the network sees it."""
    interpolation = cv2.INTER_AREA if max(image.shape[:2]) > size else cv2.INTER_LINEAR
    sized = cv2.resize(image, (size, size), interpolation=interpolation)
    if channels == 1:
        grey = sized if sized.ndim == 2 else cv2.cvtColor(sized, cv2.COLOR_BGR2GRAY)
        planes = grey[np.newaxis]
    else:
        planes = cv2.cvtColor(sized, cv2.COLOR_BGR2RGB).transpose(2, 0, 1)
    return np.ascontiguousarray(planes, dtype=np.uint8)
