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
from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image
from rankotom_edge.geometry import Point, Similarity, similarity

FloatArray = NDArray[np.float64]
Channels = Literal[1, 3]
MOST_BLOCKS = 2  # drawn pixels that one of the crop is averaged from, each way


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


# Measured by `python -m train.data.framing` over FERPlus train: 28,407 of 28,556 faces found (99.5 %),
# spread (interquartile, as a standard deviation) 0.04 to 0.06 of the crop. The slant of the eyes is
# kept: MediaPipe sees it in LFW's photographs too (-0.6 degrees; here -0.9), so live faces have it.
FERPLUS_FRAMING = Framing(left_eye=(0.316, 0.405), right_eye=(0.685, 0.399), mouth=(0.507, 0.782))


def crop(image: Image, face: Face, framing: Framing, size: int, channels: Channels) -> Image:
    """The face as the network sees it: (channels, size, size), grey or RGB; of a BGR picture, or
    of a grey one where the network sees no colours.

    A face is first drawn at two thirds of its own resolution or more and then averaged down in
    whole blocks, so that shrinking hardly aliases; a large one is averaged to about the blocks
    before it is drawn, so that it costs little more. Beyond the picture its border is repeated.
    """
    turn, shift = similarity(
        (face.left_eye, face.right_eye, face.mouth),
        [(x * size, y * size) for x, y in (framing.left_eye, framing.right_eye, framing.mouth)],
    )
    scale = 1 / abs(turn)  # pixels of the picture in one of the crop, each way
    blocks = min(MOST_BLOCKS, max(1, math.ceil(scale)))
    thinned = max(1, min(int(scale / blocks + 0.5), *image.shape[:2]))
    side = size * blocks
    drawing = Similarity(turn * blocks, shift * blocks)
    part, corner = _part_drawn(image, drawing.inverse, side, thinned)
    if channels == 1 and part.ndim == 3:
        part = np.asarray(cv2.cvtColor(part, cv2.COLOR_BGR2GRAY), dtype=np.uint8)
    if thinned > 1:
        few = (part.shape[1] // thinned, part.shape[0] // thinned)
        part = np.asarray(cv2.resize(part, few, interpolation=cv2.INTER_AREA), dtype=np.uint8)
    from_part = Similarity(drawing.turn * thinned, drawing.shift + drawing.turn * corner)
    drawn = cv2.warpAffine(
        part,
        from_part.between_pixels.matrix,
        (side, side),
        flags=cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return resized(np.asarray(drawn, dtype=np.uint8), size, channels)


def _part_drawn(image: Image, back: Similarity, side: int, thinned: int) -> tuple[Image, complex]:
    """The part of the picture that a square of ``side`` is drawn from, in whole blocks of
    ``thinned`` pixels, and its upper left corner.

    To turn this part grey first and draw one channel takes a third of drawing all three.
    """
    height, width = image.shape[:2]
    corners = [back.carry(drawn) for drawn in ((0, 0), (side, 0), (0, side), (side, side))]
    across, down = zip(*corners, strict=True)
    # A face wholly beyond the border is drawn from the border's last pixels.
    margin = 3 * thinned
    left = min(max(math.floor(min(across)) - margin, 0), width - thinned)
    top = min(max(math.floor(min(down)) - margin, 0), height - thinned)
    right = max(min(math.ceil(max(across)) + margin, width), left + thinned)
    bottom = max(min(math.ceil(max(down)) + margin, height), top + thinned)
    columns, rows = (right - left) // thinned * thinned, (bottom - top) // thinned * thinned
    return image[top : top + rows, left : left + columns], complex(left, top)


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
