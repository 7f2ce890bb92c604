"""Turned, scaled and shifted, by the least squares of a few points, and back again."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.geometry import Point, Similarity, align_points

TRIANGLE: list[Point] = [(10.0, 20.0), (50.0, 20.0), (30.0, 60.0)]


def error(found: Similarity, source: list[Point]) -> float:
    """Sum of squares of what is left."""
    pairs = zip(source, TRIANGLE, strict=True)
    return sum(math.dist(found.apply(point), target) ** 2 for point, target in pairs)


@pytest.mark.parametrize("degrees", [-170.0, -20.0, 0.0, 35.0, 90.0])
@pytest.mark.parametrize("scale", [0.1, 1.0, 7.0])
def test_a_turned_scaled_and_shifted_face_is_brought_back_exactly(
    degrees: float, scale: float
) -> None:
    away = Similarity(cmath.rect(scale, math.radians(degrees)), 100 - 40j)
    source = [away.apply(point) for point in TRIANGLE]
    found = align_points(source, TRIANGLE)
    assert error(found, source) == pytest.approx(0, abs=1e-15)
    assert found == pytest.approx(away.inverse, abs=1e-9)


def test_a_face_of_another_shape_is_met_halfway_and_never_sheared_or_mirrored() -> None:
    # A mouth 10 lower than the target's. By hand, over points less their mean: the source's are
    # (-20, -50/3), (20, -50/3), (0, 100/3), the target's (-20, -40/3), (20, -40/3), (0, 80/3),
    # and sum(s.t) / sum(s.s) = (800 + 4000/9 + 8000/9) / (800 + 5000/9 + 10000/9).
    source = [*TRIANGLE[:2], (30.0, 70.0)]
    assert align_points(source, TRIANGLE).turn == pytest.approx(19200 / 22200)
    mirrored = [(-x, y) for x, y in TRIANGLE]
    assert np.linalg.det(align_points(mirrored, TRIANGLE).matrix[:, :2]) > 0


def test_no_nearby_similarity_fits_better() -> None:
    random = np.random.default_rng(0)
    source = [(x + random.normal(0, 4), y + random.normal(0, 4)) for x, y in TRIANGLE]
    best = align_points(source, TRIANGLE)
    for real, imaginary, x, y in random.normal(0, 0.01, (50, 4)).tolist():
        other = Similarity(best.turn + complex(real, imaginary), best.shift + complex(x, y))
        assert error(other, source) > error(best, source)


def test_points_that_coincide_are_refused() -> None:
    with pytest.raises(RankotomError, match="one point"):
        align_points([(1.0, 1.0)] * 3, TRIANGLE)


def test_the_matrix_does_what_the_similarity_does() -> None:
    motion = Similarity(cmath.rect(1.5, 0.4), 3 - 8j)
    moved = motion.matrix @ [7.0, 2.0, 1.0]
    assert moved.tolist() == pytest.approx(motion.apply((7.0, 2.0)))


def test_the_centre_of_a_pixel_is_half_a_pixel_from_its_corner() -> None:
    doubled = Similarity(2, 0)
    assert doubled.apply((0.5, 0.5)) == (1.0, 1.0)  # the first pixel's centre, from the corner
    assert doubled.from_pixel_centres.apply((0, 0)) == (0.5, 0.5)  # the same, from the first centre
