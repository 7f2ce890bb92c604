"""A scene cut and a newcomer are noticed without a detector; noise, shaking and lamps are not."""

import cmath
import math

import cv2
import numpy as np
import pytest

from rankotom_edge.faces.face import Face
from rankotom_edge.faces.scene_change import has_changed_outside, is_scene_cut, make_thumbnail
from rankotom_edge.frame import Image
from rankotom_edge.geometry import Similarity


def filmed(portrait: Image, x: float, y: float, degrees: float = 0.0) -> Image:
    """The portrait, grey, with its face, about 90 wide, at (x, y)."""
    turn = cmath.rect(90 / 95.9, math.radians(degrees))
    motion = Similarity(turn, complex(x, y) - turn * (224.7 + 130.6j))
    drawn = cv2.warpAffine(portrait, motion.matrix, (640, 480), borderMode=cv2.BORDER_REFLECT)
    return np.asarray(drawn, np.uint8)


def room(noise: float = 3.0, seed: int = 0) -> Image:
    random = np.random.default_rng(seed)
    wall = cv2.resize(
        np.random.default_rng(9).integers(60, 200, (6, 8), dtype=np.uint8), (640, 480)
    )
    return np.clip(wall + random.normal(0, noise, wall.shape), 0, 255).astype(np.uint8)


def test_sensor_noise_is_no_newcomer_and_no_cut() -> None:
    before, now = make_thumbnail(room(seed=1)), make_thumbnail(room(noise=8, seed=2))
    assert not has_changed_outside(before, now, (), (480, 640))
    assert not is_scene_cut(before, now)


def test_a_head_that_comes_in_is_noticed_unless_it_is_known() -> None:
    now = room(seed=1)
    cv2.ellipse(now, (500, 240), (40, 55), 0, 0, 360, 175, -1)
    known = Face((460, 185, 80, 110), (480, 220), (520, 220), (500, 245), (500, 270), 0.9)
    before, after = make_thumbnail(room(seed=2)), make_thumbnail(now)
    assert has_changed_outside(before, after, (), now.shape)
    assert not has_changed_outside(before, after, (known,), now.shape)
    assert not is_scene_cut(before, after)


def test_another_scene_is_a_cut_and_a_lamp_is_none(grey_portrait: Image) -> None:
    scene = filmed(grey_portrait, 300, 240)
    shaken = filmed(grey_portrait, 312, 233, degrees=2)
    lit = np.clip(scene * 1.5, 0, 255).astype(np.uint8)
    assert is_scene_cut(make_thumbnail(room()), make_thumbnail(scene))
    assert not is_scene_cut(make_thumbnail(scene), make_thumbnail(shaken))
    assert not is_scene_cut(make_thumbnail(scene), make_thumbnail(lit))


@pytest.mark.parametrize("shape", [(20, 30), (48, 48), (1080, 1920), (2000, 700)])
def test_a_thumbnail_has_one_size(shape: tuple[int, int]) -> None:
    assert make_thumbnail(np.zeros(shape, np.uint8)).shape == (24, 32)
