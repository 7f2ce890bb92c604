"""Rotation, scale and shift in the plane, with points as complex numbers: z -> turn z + shift.

In plain Python numbers: for three points, at every frame, numpy takes ten times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calib.errors import RankotomError

Point = tuple[float, float]
PIXEL_CENTRE = 0.5 + 0.5j


class Similarity(NamedTuple):
    turn: complex  # rotates and scales
    shift: complex

    def apply(self, point: Point) -> Point:
        moved = self.turn * complex(*point) + self.shift
        return moved.real, moved.imag

    @property
    def inverse(self) -> Similarity:
        return Similarity(1 / self.turn, -self.shift / self.turn)

    @property
    def from_pixel_centres(self) -> Similarity:
        """For warpAffine, whose origin is the centre of the first pixel; ours is its corner."""
        return Similarity(self.turn, self.shift + self.turn * PIXEL_CENTRE - PIXEL_CENTRE)

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The 2x3 matrix that OpenCV takes."""
        turn, shift = self
        return np.array([[turn.real, -turn.imag, shift.real], [turn.imag, turn.real, shift.imag]])


def align_points(source: Sequence[Point], target: Sequence[Point]) -> Similarity:
    """The similarity that brings the points of a face closest to ``target``."""
    if len(set(source)) == 1:
        raise RankotomError(
            "This face cannot be aligned: its eyes and mouth are one point. "
            "The detector was wrong here; skip the face."
        )
    return fit_similarity(
        [complex(*point) for point in source], [complex(*point) for point in target]
    )


def fit_similarity(source: Sequence[complex], target: Sequence[complex]) -> Similarity:
    """The least-squares similarity between points that are not all the same (Umeyama 1991, without
    reflection). In the plane it has a closed form: with both sides centred, turn is
    sum(conj(s) t) / sum(|s|^2)."""
    s_centre, t_centre = sum(source) / len(source), sum(target) / len(target)
    spread = sum(abs(point - s_centre) ** 2 for point in source)
    pairs = zip(source, target, strict=True)
    turn = sum((a - s_centre).conjugate() * (b - t_centre) for a, b in pairs) / spread
    return Similarity(turn, t_centre - turn * s_centre)
