"""Strokes on a picture."""

from __future__ import annotations

import numpy as np
import pytest

from rankotom_edge.frame import Image
from rankotom_edge.views.drawing.canvas import dot, fill, glass, outline, rounded, write
from rankotom_edge.views.window.panel_placement import Rect

WHITE, RED = (255, 255, 255), (0, 0, 255)


def ground(level: int = 100) -> Image:
    return np.full((60, 80, 3), level, np.uint8)


def test_a_filled_rectangle_has_its_colour_and_nothing_around_it() -> None:
    image = ground()
    fill(image, Rect(10, 20, 30, 15), RED)
    assert np.all(image[20:35, 10:40] == RED)
    image[20:35, 10:40] = 100
    assert np.array_equal(image, ground())


def test_half_opacity_is_half_way() -> None:
    image = ground()
    fill(image, Rect(0, 0, 80, 60), WHITE, opacity=0.5)
    assert image == pytest.approx(177, abs=1)


@pytest.mark.parametrize("place", [(-20, -10), (70, 50), (-100, 0), (0, 200)])
def test_what_reaches_over_the_border_is_cut_off(place: tuple[int, int]) -> None:
    image = ground()
    rect = Rect(*place, 40, 30)
    fill(image, rect, RED, 5)
    glass(image, rect, 5)
    outline(image, rect, 5, RED, 2, WHITE)
    dot(image, place, 6, RED)
    write(image, "happiness", place, 12, WHITE)
    assert image.shape == (60, 80, 3)


def test_round_corners_are_round() -> None:
    mask = rounded(20, 12, 4)
    assert mask[0, 0] == 0
    assert mask[0, 10] == 255
    assert mask[6, 0] == 255
    assert np.array_equal(mask, mask[::-1, ::-1])


@pytest.mark.parametrize("level", [0, 128, 255])
def test_letters_can_be_read_on_glass_over_anything(level: int) -> None:
    image = np.full((60, 80, 3), level, np.uint8)
    glass(image, Rect(5, 5, 70, 50), 6)
    assert image[10:50, 10:70].max() < 80


def test_glass_hides_what_is_behind_it_but_for_its_glow() -> None:
    stripes = ground()
    stripes[:, ::2] = 255
    glass(stripes, Rect(0, 0, 80, 60), 0)
    assert stripes.std() < 3


def test_text_ends_where_it_is_told_to() -> None:
    image = ground(0)
    width = write(image, "83 %", (70, 5), 12, WHITE, right=True)
    columns = np.nonzero(image.any(axis=(0, 2)))[0]
    assert columns.max() <= 70
    assert columns.min() >= 70 - width - 1
    assert write(image, "", (0, 0), 12, WHITE) == 0
    assert write(ground(), "far too long for it", (0, 0), 12, WHITE, room=40) <= 40
