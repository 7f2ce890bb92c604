"""A face is followed by its motion, without a detector."""

import cmath
import math

import cv2
import numpy as np
import pytest

from rankotom_edge.faces.face import Face
from rankotom_edge.faces.motion import ComplexPoints, fit_rigid_motion, follow_face
from rankotom_edge.frame import Image
from rankotom_edge.geometry import Similarity

# The demo portrait's face as the detector sees it, so that these tests need none.
FACE = Face(
    box=(176.8, 82.6, 95.9, 95.9),
    left_eye=(206.5, 108.9),
    right_eye=(251.0, 108.7),
    nose=(230.0, 129.0),
    mouth=(228.6, 150.5),
    score=0.92,
)


def placed(
    grey_portrait: Image, x: float, y: float, width: float, degrees: float = 0.0
) -> tuple[Image, Face]:
    """The portrait, grey, with its face at (x, y), so wide, turned; and the face there."""
    turn = cmath.rect(width / FACE.box[2], math.radians(degrees))
    motion = Similarity(turn, complex(x, y) - turn * complex(*FACE.centre))
    drawn = cv2.warpAffine(grey_portrait, motion.matrix, (640, 480), borderMode=cv2.BORDER_REFLECT)
    return np.asarray(drawn, np.uint8), FACE.transform(motion)


def error(one: Face, other: Face) -> float:
    """The largest distance between the two faces' points, in widths of the face."""
    points = ("left_eye", "right_eye", "nose", "mouth", "centre")
    return max(math.dist(getattr(one, name), getattr(other, name)) for name in points) / one.box[2]


@pytest.mark.parametrize("width", [40, 80, 240])
@pytest.mark.parametrize("step", [0.05, 0.3])
def test_a_face_is_followed_to_half_a_hundredth_of_its_width(
    grey_portrait: Image, width: float, step: float
) -> None:
    before, face = placed(grey_portrait, 300, 240, width)
    after, truth = placed(
        grey_portrait, 300 + step * width, 240 - 0.1 * width, width * 1.04, degrees=4
    )
    moved = follow_face(before, after, face)
    assert moved is not None
    assert error(truth, moved) < 0.005
    assert moved.box[2] == pytest.approx(truth.box[2], rel=0.01)


def test_a_hand_over_a_third_of_the_face_does_not_drag_it_along(grey_portrait: Image) -> None:
    before, face = placed(grey_portrait, 300, 240, 100)
    after, truth = placed(grey_portrait, 304, 240, 100)
    after[200:300, 318:380] = 140
    moved = follow_face(before, after, face)
    assert moved is not None
    assert error(truth, moved) < 0.01


def test_what_is_gone_is_not_followed(grey_portrait: Image) -> None:
    before, face = placed(grey_portrait, 300, 240, 100)
    noise = np.random.default_rng(0).integers(0, 255, before.shape, dtype=np.uint8)
    assert follow_face(before, noise, face) is None
    assert follow_face(before, np.full_like(before, 128), face) is None


@pytest.mark.parametrize("centre", [(-80.0, 240.0), (320.0, 600.0), (700.0, -50.0)])
def test_a_face_outside_the_picture_is_lost_and_nothing_breaks(
    grey_portrait: Image, centre: tuple[float, float]
) -> None:
    image, face = placed(grey_portrait, *centre, 90)
    assert follow_face(image, image, face) is None


def test_a_face_that_leaves_is_lost_at_the_border(grey_portrait: Image) -> None:
    before, face = placed(grey_portrait, 8, 240, 90)
    after, _ = placed(grey_portrait, -20, 240, 90)
    assert follow_face(before, after, face) is None


def scattered() -> ComplexPoints:
    points = np.random.default_rng(0).uniform(0, 40, (25, 2)).astype(np.float32)
    return points.view(np.complex64).ravel()


def test_most_points_decide_on_the_motion() -> None:
    source = scattered()
    target = np.complex64(1.1) * source + np.complex64(3 - 2j)
    target[:9] += np.complex64(12 + 5j)
    motion = fit_rigid_motion(source, target, tolerance=1.0)
    assert motion is not None
    assert motion == pytest.approx(Similarity(1.1, 3 - 2j), abs=1e-3)
    assert fit_rigid_motion(source[:8], target[:8], tolerance=1.0) is None


def test_a_face_does_not_grow_by_half_between_two_frames() -> None:
    source = scattered()
    assert fit_rigid_motion(source, source * np.complex64(1.5), tolerance=1.0) is None
