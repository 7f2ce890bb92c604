"""What the keys open: help, reliability diagram, crops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import cv2
import numpy as np

from rankotom_edge.views.controls import KEYS, Controls
from rankotom_edge.views.palette import EMOTION_HEX
from rankotom_edge.views.window.overlay import Overlay


def test_the_help_leaves_out_the_keys_that_can_do_nothing(
    window: Any, words: Callable[..., str]
) -> None:
    said = words(
        window.frame_readings(window.HAPPY), controls=Controls(help=True, absent=("r", "c"))
    )
    assert KEYS["v"] in said
    assert KEYS["r"] not in said
    assert KEYS["c"] not in said


def test_the_help_lists_every_key(window: Any, words: Callable[..., str]) -> None:
    said = words(window.frame_readings(window.HAPPY), controls=Controls(help=True))
    for key, meaning in KEYS.items():
        assert f"{key} | {meaning}" in said


def test_the_reliability_diagram_opens_beside_the_picture(
    window: Any, words: Callable[..., str]
) -> None:
    asked = Controls(reliability=True)
    image = window.drawn(window.frame_readings(window.HAPPY), controls=asked)
    assert image.shape[1] > 640
    said = words(window.frame_readings(window.HAPPY), controls=asked)
    ece = window.MODEL.evaluation.metrics["ece"].value
    assert f"ECE {100 * ece:.1f} %, 1,789 faces" in said
    assert "not sure enough" in said


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
    image = window.drawn(
        window.frame_readings(replace(window.HAPPY, crop=crop)), controls=Controls(crop=True)
    )
    shown = image[:200, 640:]
    inner = cv2.resize(crop[0], (90, 90), interpolation=cv2.INTER_NEAREST)[10:-10, 10:-10]
    found = cv2.matchTemplate(cv2.cvtColor(shown, cv2.COLOR_BGR2GRAY), inner, cv2.TM_CCOEFF_NORMED)
    assert found.max() > 0.99


def test_the_crops_of_a_crowd_stay_in_their_column(window: Any) -> None:
    crop = np.full((1, 48, 48), 255, np.uint8)
    crowd = [
        replace(
            window.reading(window.shares(anger=0.9), window.face_in(40 * n, 20 * n, 60), n),
            crop=crop,
        )
        for n in range(1, 13)
    ]
    image = window.drawn(
        window.frame_readings(*crowd), controls=Controls(crop=True, reliability=True)
    )
    white = np.all(image == 255, axis=2)
    assert white[:480, 640:].sum() > 80 * 80
    assert white[480:].sum() == 0
