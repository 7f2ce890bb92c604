"""What the keys open: help, reliability diagram, crops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest

from rankotom_edge.views.controls import KEYS, Controls
from rankotom_edge.views.drawing.sizes import Sizes
from rankotom_edge.views.drawing.tag import tag_height, tag_width
from rankotom_edge.views.palette import EMOTION_HEX
from rankotom_edge.views.window.insets import crop_grid, split_column
from rankotom_edge.views.window.layout import divide_window
from rankotom_edge.views.window.overlay import Overlay


def test_the_help_leaves_out_the_keys_that_can_do_nothing(
    window: Any, words: Callable[..., str]
) -> None:
    said = words(
        window.frame_readings(window.HAPPY), controls=Controls(help=True, absent=("r", "c"))
    ).replace(" | ", " ")
    assert KEYS["v"] in said
    assert KEYS["r"] not in said
    assert KEYS["c"] not in said


def test_the_help_lists_every_key(window: Any, words: Callable[..., str]) -> None:
    said = words(window.frame_readings(window.HAPPY), controls=Controls(help=True))
    said = said.replace(" | ", " ")  # long ones are written in two lines
    for key, meaning in (KEYS | {"f": "full screen"}).items():
        assert f"{key} {meaning}" in said


def test_the_reliability_diagram_says_what_was_measured(
    window: Any, words: Callable[..., str]
) -> None:
    said = words(window.frame_readings(window.HAPPY), controls=Controls(reliability=True))
    ece = window.MODEL.evaluation.metrics["ece"].value
    assert f"ECE {100 * ece:.1f} %, 1,789 faces" in said
    assert "not sure enough" in said


@pytest.mark.parametrize("faces", [0, 1, 3, 8, 18])
@pytest.mark.parametrize("room", [(640, 480), (1280, 800), (800, 1200), (480, 800)])
@pytest.mark.parametrize("pressed", ["help", "reliability", "crop"])
def test_what_a_key_opens_is_in_the_column_and_leaves_room_for_a_card(
    pressed: str, room: tuple[int, int], faces: int
) -> None:
    layout = divide_window((640, 480), room, status_lines=1)
    cards, inset = split_column(layout, Controls(**{pressed: True}), faces)
    assert inset is not None
    assert inset.name == pressed
    for place in (cards, inset.rect):
        assert layout.column.grow(0.5).contains(place)
        assert not place.overlaps(layout.around)
    assert not cards.overlaps(inset.rect)
    assert cards.height >= layout.sizes.px(44)


def test_one_thing_is_open_at_a_time_the_help_first() -> None:
    layout = divide_window((640, 480), (640, 480), status_lines=1)
    _, inset = split_column(layout, Controls(help=True, crop=True, reliability=True), 1)
    assert inset is not None
    assert inset.name == "help"


def test_a_model_without_a_table_is_drawn_all_the_same(window: Any, texts: list[str]) -> None:
    measured = window.MODEL.evaluation
    metrics = measured.metrics | {"ece": replace(measured.metrics["ece"], value=None)}
    evaluation = replace(measured, reliability=(), other_bars=(), metrics=metrics)
    overlay = Overlay(replace(window.MODEL, evaluation=evaluation))
    display = window.playing(window.frame_readings(window.HAPPY), Controls(reliability=True))
    image = overlay.draw(display)
    assert window.pixels_of(image, EMOTION_HEX["happiness"]) > 100
    assert "this model does not say" in texts


def test_the_crop_is_shown_pixel_by_pixel(window: Any) -> None:
    crop = np.random.default_rng(1).integers(0, 256, (1, 48, 48), dtype=np.uint8)
    latest = window.frame_readings(replace(window.HAPPY, crop=crop))
    image = window.drawn(latest, controls=Controls(crop=True), room=(640, 480))
    shown = image[:, 432:]
    inner = cv2.resize(crop[0], (90, 90), interpolation=cv2.INTER_NEAREST)[10:-10, 10:-10]
    found = cv2.matchTemplate(cv2.cvtColor(shown, cv2.COLOR_BGR2GRAY), inner, cv2.TM_CCOEFF_NORMED)
    assert found.max() > 0.99


@pytest.mark.parametrize("faces", [2, 3, 8, 18, 40])
def test_a_crop_is_not_hidden_by_its_number(faces: int) -> None:
    sizes = Sizes(1.0)
    columns, rows, size = crop_grid(faces, width=208, room=212, sizes=sizes)
    assert tag_width("18", sizes) * tag_height(sizes) < 0.35 * size**2
    assert columns * rows >= min(faces, 12)


def test_the_crops_of_a_crowd_stay_in_their_column(window: Any) -> None:
    crop = np.full((1, 48, 48), 255, np.uint8)
    crowd = [
        replace(
            window.reading(window.shares(anger=0.9), window.face_in(30 * n, 20 * n, 60), n),
            crop=crop,
        )
        for n in range(1, 13)
    ]
    opened = Controls(crop=True)
    image = window.drawn(window.frame_readings(*crowd), controls=opened, room=(640, 480))
    white = np.all(image == 255, axis=2)
    assert white[:, 432:].sum() > 12 * 20 * 20
    assert white[:, :432].sum() == 0
    assert white[454:].sum() == 0
