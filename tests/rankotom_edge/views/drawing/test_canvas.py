"""Text and shapes on an image."""

from __future__ import annotations

import numpy as np
import pytest

from rankotom_edge.frame import Image
from rankotom_edge.views.drawing.canvas import (
    draw_dot,
    draw_outline,
    draw_text,
    fill_rect,
    rounded_mask,
)
from rankotom_edge.views.drawing.rect import Rect

WHITE, RED = (255, 255, 255), (0, 0, 255)


def ground(level: int = 100) -> Image:
    return np.full((60, 80, 3), level, np.uint8)


def test_a_filled_rectangle_has_its_colour_and_nothing_around_it() -> None:
    image = ground()
    fill_rect(image, Rect(10, 20, 30, 15), RED)
    assert np.all(image[20:35, 10:40] == RED)
    image[20:35, 10:40] = 100
    assert np.array_equal(image, ground())


def test_half_opacity_is_half_way() -> None:
    image = ground()
    fill_rect(image, Rect(0, 0, 80, 60), WHITE, opacity=0.5)
    assert image == pytest.approx(177, abs=1)


@pytest.mark.parametrize("place", [(-20, -10), (70, 50), (-100, 0), (0, 200)])
def test_what_reaches_over_the_border_is_cut_off(place: tuple[int, int]) -> None:
    image = ground()
    rect = Rect(*place, 40, 30)
    fill_rect(image, rect, RED, 5)
    draw_outline(image, rect, RED, 2, WHITE)
    draw_dot(image, place, 6, RED)
    draw_text(image, "happiness", place, 12, WHITE)
    assert image.shape == (60, 80, 3)


def test_round_corners_are_round() -> None:
    mask = rounded_mask(20, 12, 4)
    assert mask[0, 0] == 0
    assert mask[0, 10] == 255
    assert mask[6, 0] == 255
    assert np.array_equal(mask, mask[::-1, ::-1])


def test_text_ends_where_it_is_asked_to() -> None:
    image = ground(0)
    width = draw_text(image, "83 %", (70, 5), 12, WHITE, right=True)
    columns = np.nonzero(image.any(axis=(0, 2)))[0]
    assert columns.max() <= 70
    assert columns.min() >= 70 - width - 1
    assert draw_text(image, "", (0, 0), 12, WHITE) == 0
    assert draw_text(ground(), "far too long for it", (0, 0), 12, WHITE, room=40) <= 40
