"""Draws text, filled shapes and outlines on a BGR image."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image as Drawing
from PIL import ImageDraw

from rankotom_edge.frame import Image
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.drawing.text import Mask, shorten, text_mask, text_width
from rankotom_edge.views.palette import Colour

SUBPIXEL_BITS = 4
HALO_OPACITY = 0.4


@dataclass(frozen=True, eq=False)
class ColouredMask:
    """A colour through a mask, ready to draw: image * keep + ink, in 256ths.

    It is computed once and cached, because the same words and shapes are drawn on every frame.
    """

    keep: NDArray[np.uint16]  # (height, width, 3)
    ink: NDArray[np.uint16]

    @classmethod
    def of(cls, mask: Mask, colour: Colour, opacity: float = 1.0) -> ColouredMask:
        cover = np.rint(mask[..., np.newaxis] * (opacity * 256 / 255)).astype(np.uint16)
        cover = np.repeat(cover, 3, axis=2)
        return cls(256 - cover, cover * np.array(colour, np.uint16))

    def draw(self, image: Image, x: int, y: int) -> None:
        """With its upper left corner at (x, y), cut off at the image's border."""
        height, width = self.keep.shape[:2]
        left, top = max(x, 0), max(y, 0)
        right, bottom = min(x + width, image.shape[1]), min(y + height, image.shape[0])
        if left >= right or top >= bottom:
            return
        part = (slice(top - y, bottom - y), slice(left - x, right - x))
        ground = image[top:bottom, left:right]
        ground[:] = (ground * self.keep[part] + self.ink[part]) >> 8


def draw_text(
    image: Image,
    text: str,
    at: tuple[float, float],
    size: int,
    colour: Colour,
    *,
    bold: bool = False,
    room: float = math.inf,
    right: bool = False,
) -> int:
    """``at`` is the upper left corner of the line, or with ``right`` the upper right one.

    Text wider than ``room`` is cut short. Returns the width.
    """
    if room < math.inf:
        text = shorten(text, max(0, int(room)), size, bold)
    if not text:
        return 0
    width = text_width(text, size, bold)
    x = round(at[0]) - (width if right else 0)
    _coloured_text(text, size, bold, colour).draw(image, x, round(at[1]))
    return width


def fill_rect(
    image: Image, rect: Rect, colour: Colour, radius: float = 0, opacity: float = 1
) -> None:
    x, y, width, height = rect.pixels
    if width > 0 and height > 0:
        _coloured_rect(width, height, round(radius), colour, opacity).draw(image, x, y)


def crop_image(crop: Image) -> Image:
    """A crop, from (channels, size, size), grey or RGB, to OpenCV's order."""
    planes = np.repeat(crop, 3, axis=0) if len(crop) == 1 else crop[::-1]
    return np.ascontiguousarray(planes.transpose(1, 2, 0))


def draw_outline(image: Image, rect: Rect, colour: Colour, thickness: int, halo: Colour) -> None:
    """Placed to a sixteenth of a pixel, so that it moves smoothly. The halo keeps it visible on a
    picture of the same colour."""
    area = rect.grow(thickness + 2).within(Rect(0, 0, image.shape[1], image.shape[0]))
    x, y, width, height = area.pixels
    if width <= 0 or height <= 0:
        return
    ground = image[y : y + height, x : x + width]
    # OpenCV counts from the centre of the first pixel, a Rect from its corner.
    edges = (rect.x - x, rect.y - y, rect.right - x, rect.bottom - y)
    left, top, right, bottom = (round((edge - 0.5) * 2**SUBPIXEL_BITS) for edge in edges)
    box = ((left, top), (right, bottom))
    style = (cv2.LINE_AA, SUBPIXEL_BITS)
    shaded = cv2.rectangle(ground.copy(), *box, halo, thickness + 2, *style)
    lined = cv2.addWeighted(ground, 1 - HALO_OPACITY, shaded, HALO_OPACITY, 0)
    ground[:] = cv2.rectangle(lined, *box, colour, thickness, *style)


def draw_dot(image: Image, centre: tuple[float, float], radius: float, colour: Colour) -> None:
    fill_rect(image, Rect(*centre, 0, 0).grow(radius), colour, radius)


@lru_cache(maxsize=256)
def _coloured_text(text: str, size: int, bold: bool, colour: Colour) -> ColouredMask:
    return ColouredMask.of(text_mask(text, size, bold), colour)


@lru_cache(maxsize=256)
def _coloured_rect(
    width: int, height: int, radius: int, colour: Colour, opacity: float
) -> ColouredMask:
    return ColouredMask.of(rounded_mask(width, height, radius), colour, opacity)


@lru_cache(maxsize=64)
def rounded_mask(width: int, height: int, radius: int) -> Mask:
    """A rectangle with round corners, drawn four times as large and averaged down."""
    large = Drawing.new("L", (4 * width, 4 * height), 0)
    corners = (0, 0, 4 * width - 1, 4 * height - 1)
    ImageDraw.Draw(large).rounded_rectangle(corners, 4 * radius, fill=255)
    return np.asarray(large.reduce(4), np.uint8)
