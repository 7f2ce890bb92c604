"""A face is carried along by its own motion; a newcomer or a cut is noticed without a detector."""

import cmath
import math
from importlib import resources

import cv2
import numpy as np
import pytest

from rankotom_edge.faces.face import Face
from rankotom_edge.faces.motion import Places, follow, glance, is_cut, moved_outside, rigid_motion
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


@pytest.fixture(scope="module")
def portrait() -> Image:
    path = resources.files("rankotom_edge.sources") / "eileen-collins.jpg"
    image = cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_GRAYSCALE)
    return np.asarray(image, np.uint8)


def placed(
    portrait: Image, x: float, y: float, width: float, degrees: float = 0.0
) -> tuple[Image, Face]:
    """The portrait, grey, with its face at (x, y), so wide, turned; and the face there."""
    turn = cmath.rect(width / FACE.box[2], math.radians(degrees))
    motion = Similarity(turn, complex(x, y) - turn * complex(*FACE.centre))
    drawn = cv2.warpAffine(portrait, motion.matrix, (640, 480), borderMode=cv2.BORDER_REFLECT)
    return np.asarray(drawn, np.uint8), FACE.carried(motion)


def error(one: Face, other: Face) -> float:
    """The largest distance between the two faces' points, in widths of the face."""
    points = ("left_eye", "right_eye", "nose", "mouth", "centre")
    return max(math.dist(getattr(one, name), getattr(other, name)) for name in points) / one.box[2]


@pytest.mark.parametrize("width", [40, 80, 240])
@pytest.mark.parametrize("step", [0.05, 0.3])
def test_a_face_is_followed_to_half_a_hundredth_of_its_width(
    portrait: Image, width: float, step: float
) -> None:
    before, face = placed(portrait, 300, 240, width)
    after, truth = placed(portrait, 300 + step * width, 240 - 0.1 * width, width * 1.04, degrees=4)
    moved = follow(before, after, face)
    assert moved is not None
    assert error(truth, moved) < 0.005
    assert moved.box[2] == pytest.approx(truth.box[2], rel=0.01)


def test_a_hand_over_a_third_of_the_face_does_not_drag_it_along(portrait: Image) -> None:
    before, face = placed(portrait, 300, 240, 100)
    after, truth = placed(portrait, 304, 240, 100)
    after[200:300, 318:380] = 140
    moved = follow(before, after, face)
    assert moved is not None
    assert error(truth, moved) < 0.01


def test_what_is_gone_is_not_followed(portrait: Image) -> None:
    before, face = placed(portrait, 300, 240, 100)
    noise = np.random.default_rng(0).integers(0, 255, before.shape, dtype=np.uint8)
    assert follow(before, noise, face) is None
    assert follow(before, np.full_like(before, 128), face) is None


@pytest.mark.parametrize("centre", [(-80.0, 240.0), (320.0, 600.0), (700.0, -50.0)])
def test_a_face_outside_the_picture_is_lost_and_nothing_breaks(
    portrait: Image, centre: tuple[float, float]
) -> None:
    image, face = placed(portrait, *centre, 90)
    assert follow(image, image, face) is None


def test_a_face_that_leaves_is_lost_at_the_border(portrait: Image) -> None:
    before, face = placed(portrait, 8, 240, 90)
    after, _ = placed(portrait, -20, 240, 90)
    assert follow(before, after, face) is None


def scattered() -> Places:
    points = np.random.default_rng(0).uniform(0, 40, (25, 2)).astype(np.float32)
    return points.view(np.complex64).ravel()


def test_most_points_decide_on_the_motion() -> None:
    source = scattered()
    target = np.complex64(1.1) * source + np.complex64(3 - 2j)
    target[:9] += np.complex64(12 + 5j)
    motion = rigid_motion(source, target, tolerance=1.0)
    assert motion is not None
    assert motion == pytest.approx(Similarity(1.1, 3 - 2j), abs=1e-3)
    assert rigid_motion(source[:8], target[:8], tolerance=1.0) is None


def test_a_face_does_not_grow_by_half_between_two_frames() -> None:
    source = scattered()
    assert rigid_motion(source, source * np.complex64(1.5), tolerance=1.0) is None


def room(noise: float = 3.0, seed: int = 0) -> Image:
    random = np.random.default_rng(seed)
    wall = cv2.resize(
        np.random.default_rng(9).integers(60, 200, (6, 8), dtype=np.uint8), (640, 480)
    )
    return np.clip(wall + random.normal(0, noise, wall.shape), 0, 255).astype(np.uint8)


def test_sensor_noise_is_no_newcomer_and_no_cut() -> None:
    before, now = glance(room(seed=1)), glance(room(noise=8, seed=2))
    assert not moved_outside(before, now, (), (480, 640))
    assert not is_cut(before, now)


def test_a_head_that_comes_in_is_noticed_unless_it_is_known() -> None:
    now = room(seed=1)
    cv2.ellipse(now, (500, 240), (40, 55), 0, 0, 360, 175, -1)
    known = Face((460, 185, 80, 110), (480, 220), (520, 220), (500, 245), (500, 270), 0.9)
    before, after = glance(room(seed=2)), glance(now)
    assert moved_outside(before, after, (), now.shape)
    assert not moved_outside(before, after, (known,), now.shape)
    assert not is_cut(before, after)


def test_another_scene_is_a_cut_and_a_lamp_is_none(portrait: Image) -> None:
    scene, _ = placed(portrait, 300, 240, 90)
    shaken, _ = placed(portrait, 312, 233, 90, degrees=2)
    lit = np.clip(scene * 1.5, 0, 255).astype(np.uint8)
    assert is_cut(glance(room()), glance(scene))
    assert not is_cut(glance(scene), glance(shaken))
    assert not is_cut(glance(scene), glance(lit))


@pytest.mark.parametrize("shape", [(20, 30), (48, 48), (1080, 1920), (2000, 700)])
def test_a_glance_has_one_size(shape: tuple[int, int]) -> None:
    assert glance(np.zeros(shape, np.uint8)).shape == (24, 32)
