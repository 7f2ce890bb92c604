"""Draws a face with an expression, so that a moving picture needs nobody's photograph.

Lengths are in units of ``scale`` from the middle of the face; how it looks is chosen by eye.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from rankotom_edge.frame import Image

SUPER = 2  # drawn larger and averaged, so that edges are smooth
BITS = 4  # of a pixel's fractions in OpenCV's coordinates

Colour = tuple[int, int, int]
Points = Sequence[tuple[float, float]]

# Blue, green, red.
SKIN, SHADE, LIGHT = (150, 178, 226), (118, 146, 204), (168, 194, 236)
HAIR, BROW, LASH = (38, 46, 66), (44, 56, 84), (36, 40, 52)
LIP, MOUTH, TEETH = (104, 104, 190), (46, 36, 70), (240, 240, 240)
WHITE, IRIS, PUPIL = (238, 238, 238), (92, 84, 60), (22, 22, 22)
SHIRT, WALL = (132, 104, 62), (206, 200, 192)
FRINGE = (
    (-1.04, -0.12), (-0.88, -0.62), (-0.35, -0.74), (0.25, -0.79), (0.80, -0.57), (1.04, -0.12),
    (1.05, -0.8), (0.55, -1.35), (0.0, -1.48), (-0.55, -1.35), (-1.05, -0.8),
)  # fmt: skip


@dataclass(frozen=True)
class Expression:
    """Each from 0, at rest, to 1; ``smile`` down to -1, the corners of the mouth down."""

    smile: float = 0.0
    mouth_open: float = 0.0
    brows_up: float = 0.0
    inner_brows_up: float = 0.0
    eyes_wide: float = 0.0

    @property
    def cheerful(self) -> float:
        return max(0.0, self.smile)

    def towards(self, other: "Expression", share: float) -> "Expression":
        mine, theirs = vars(self), vars(other)
        return Expression(
            **{part: mine[part] + share * (theirs[part] - mine[part]) for part in mine}
        )


class FaceDrawing:
    def __init__(self, size: tuple[int, int], centre: tuple[float, float], scale: float) -> None:
        self._size = size
        self._centre = np.array(centre) * SUPER
        self._scale = scale * SUPER

    def draw(self, expression: Expression, light: float = 1.0) -> Image:
        """``light`` falls on the person; the wall behind is lit a little by itself."""
        width, height = self._size
        self._light = light
        self._image = np.zeros((height * SUPER, width * SUPER, 3), np.uint8)
        self._image[:] = [(0.3 + 0.7 * light) * part for part in WALL]
        self._draw_head()
        for side in (-1, 1):
            self._draw_eye(side, expression)
            self._draw_brow(side, expression)
        self._draw_nose()
        self._draw_cheeks(expression)
        self._draw_mouth(expression)
        drawn = cv2.resize(self._image, self._size, interpolation=cv2.INTER_AREA)
        return np.asarray(cv2.GaussianBlur(drawn, (0, 0), 0.8), np.uint8)

    def _draw_head(self) -> None:
        self._fill(oval(0, 3.05, 2.2, 1.35), SHIRT)
        self._fill(oval(0, -0.35, 1.2, 1.3), HAIR)
        self._fill(oval(0, 0.62, 1.22, 0.72), HAIR)
        self._fill([(-1.2, -0.4), (1.2, -0.4), (1.22, 0.62), (-1.22, 0.62)], HAIR)
        self._fill([(-0.42, 0.8), (0.42, 0.8), (0.5, 1.95), (0, 2.2), (-0.5, 1.95)], SHADE)
        for side in (-1, 1):
            self._fill(oval(0.98 * side, 0.1, 0.13, 0.22), SHADE)
        self._fill(jaw(), SKIN)
        self._fill(FRINGE, HAIR)

    def _draw_eye(self, side: int, expression: Expression) -> None:
        x, y = 0.40 * side, -0.12
        wide = expression.eyes_wide
        up = 0.105 * (1 + 0.75 * wide - 0.35 * expression.cheerful * (1 - wide))
        down = 0.085 * (1 + 0.5 * wide - 0.2 * expression.cheerful)
        angles = np.linspace(0, np.pi, 24)
        upper = [(x - 0.20 * np.cos(a), y - up * np.sin(a)) for a in angles]
        lower = [(x + 0.20 * np.cos(a), y + down * np.sin(a)) for a in angles]
        around = self._image.copy()
        self._fill(upper + lower, WHITE)
        self._fill(oval(x, y - 0.005, 0.088, 0.088), IRIS)
        self._fill(oval(x, y - 0.005, 0.044, 0.044), PUPIL)
        self._fill(oval(x + 0.03, y - 0.035, 0.018, 0.018), WHITE)
        eye = np.zeros((*self._image.shape[:2], 1), np.uint8)
        cv2.fillPoly(eye, [self._pixels(upper + lower)], 255, cv2.LINE_AA, BITS)
        share = eye.astype(np.float32) / 255
        self._image = (share * self._image + (1 - share) * around).astype(np.uint8)
        self._line(upper, LASH, 0.045)
        self._line(lower, SHADE, 0.02)
        self._line([(lid_x, lid_y - 0.06) for lid_x, lid_y in upper[5:-5]], SHADE, 0.02)

    def _draw_brow(self, side: int, expression: Expression) -> None:
        points = []
        for share in np.linspace(0, 1, 16):  # from the nose outwards
            arch = 0.07 * np.sin(np.pi * (0.9 * share + 0.05)) * (1 + expression.brows_up)
            tilt = expression.inner_brows_up * (0.12 - 0.18 * share)
            height = 0.36 + arch + 0.17 * expression.brows_up + tilt - 0.06 * share
            points.append((side * (0.17 + 0.47 * share), -height))
        self._line(points, BROW, 0.075)

    def _draw_nose(self) -> None:
        self._line([(-0.05, -0.1), (-0.09, 0.18), (-0.15, 0.34)], SHADE, 0.03)
        self._line([(0.06, -0.05), (0.05, 0.25)], LIGHT, 0.05)
        angles = np.linspace(0.15, np.pi - 0.15, 16)
        self._line([(0.16 * np.cos(a), 0.35 + 0.06 * np.sin(a)) for a in angles], SHADE, 0.04)

    def _draw_cheeks(self, expression: Expression) -> None:
        fold = expression.cheerful * (1 - 0.6 * expression.mouth_open)
        colour = tuple(
            round(skin + fold * (shade - skin)) for skin, shade in zip(SKIN, SHADE, strict=True)
        )
        for side in (-1, 1):
            self._line(
                [(0.24 * side, 0.34), (0.40 * side, 0.46), (0.47 * side, 0.62)], colour, 0.03
            )

    def _draw_mouth(self, expression: Expression) -> None:
        smile, cheerful, opened = expression.smile, expression.cheerful, expression.mouth_open
        half = 0.34 + 0.12 * cheerful - 0.10 * opened * (1 - 0.8 * cheerful)
        corner = 0.68 - 0.13 * smile
        top = 0.68 - 0.02 * smile - 0.05 * opened
        bottom = 0.68 + 0.10 * smile + 0.05 * cheerful + 0.34 * opened
        across = np.linspace(-1, 1, 30)
        upper_lip = top + (corner - top) * across**2
        lower_lip = bottom + (corner - bottom) * np.abs(across) ** 2.2
        upper = list(zip(half * across, upper_lip, strict=True))
        lower = list(zip(half * across, lower_lip, strict=True))
        self._fill(upper + lower[::-1], MOUTH)
        if cheerful > 0.2:
            edge = np.minimum(upper_lip + min(0.12, 0.5 * (bottom - top)), lower_lip)
            teeth = list(zip(0.8 * half * across, edge, strict=True))
            self._fill([(0.86 * x, y) for x, y in upper] + teeth[::-1], TEETH)
        self._line(upper, LIP, 0.055)
        self._line(lower, LIP, 0.075)

    def _fill(self, points: Points, colour: Colour) -> None:
        cv2.fillPoly(self._image, [self._pixels(points)], self._lit(colour), cv2.LINE_AA, BITS)

    def _line(self, points: Points, colour: Colour, thickness: float) -> None:
        wide = max(1, round(thickness * self._scale))
        lit = self._lit(colour)
        cv2.polylines(self._image, [self._pixels(points)], False, lit, wide, cv2.LINE_AA, BITS)

    def _lit(self, colour: Colour) -> tuple[float, ...]:
        return tuple(self._light * part for part in colour)

    def _pixels(self, points: Points) -> NDArray[np.int32]:
        pixels = self._centre + self._scale * np.array(points)
        return np.round(pixels * (1 << BITS)).astype(np.int32)


def oval(x: float, y: float, across: float, down: float) -> Points:
    angles = np.linspace(0, 2 * np.pi, 80)
    return [(x + across * np.cos(a), y + down * np.sin(a)) for a in angles]


def jaw() -> Points:
    """Narrower towards the chin."""
    angles = np.linspace(0, 2 * np.pi, 120)
    return [
        (
            (0.97 - 0.10 * max(0.0, np.sin(a)) ** 2) * np.cos(a),
            (1.32 if np.sin(a) > 0 else 1.12) * np.sin(a),
        )
        for a in angles
    ]
