"""What a face's panel says and shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.model.reliability import Reliability, reliability_at
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.drawing.sizes import Sizes
from rankotom_edge.views.palette import EMOTION_HEX, bgr
from rankotom_edge.views.window import panels


@pytest.mark.parametrize("side", [6, 40, 300, 470])
def test_a_face_of_any_size_gets_its_bars(
    window: Any, side: float, words: Callable[..., str]
) -> None:
    shown = window.frame_readings(
        window.reading(window.shares(happiness=0.83), window.face_in(60, 4, side))
    )
    assert "contempt" in words(shown)


def test_the_bar_is_as_long_as_the_share(window: Any) -> None:
    lengths = []
    for share in (0.3, 0.6, 0.9):
        image = window.drawn(window.frame_readings(window.reading(window.shares(sadness=share))))
        panel = image[60:330, 225:450]
        lengths.append(int(np.all(panel == bgr(EMOTION_HEX["sadness"]), axis=2).sum(axis=1).max()))
    # The mark hides up to six pixels of a bar.
    assert lengths[1] == pytest.approx(2 * lengths[0], abs=7)
    assert lengths[2] == pytest.approx(3 * lengths[0], abs=9)


def test_the_emotions_stand_in_the_order_of_the_model(
    window: Any, words: Callable[..., str]
) -> None:
    said = words(window.frame_readings(window.reading(window.shares(fear=0.7, neutral=0.1))))
    bars = said.split("times in 100")[1]
    places = [bars.index(name) for name in EMOTIONS]
    assert places == sorted(places)


def test_the_headline_names_the_expression_and_what_its_confidence_is_worth(
    window: Any, words: Callable[..., str]
) -> None:
    said = words(window.frame_readings(window.HAPPY))
    assert "happiness" in said
    assert "83 %" in said
    right = reliability_at(window.MODEL.evaluation.reliability, 0.83)
    assert right is not None
    assert f"right {100 * right:.0f} times in 100" in said


def test_a_blend_is_named_with_its_parts(window: Any, words: Callable[..., str]) -> None:
    said = words(
        window.frame_readings(window.reading(window.shares(happiness=0.52, surprise=0.31)))
    )
    assert "happily surprised" in said
    assert "happiness and surprise" in said


def test_an_unsure_reading_says_why_and_fades_its_bars(
    window: Any, words: Callable[..., str]
) -> None:
    unsure = window.frame_readings(
        window.reading(window.shares(happiness=0.83), reason="41 % sure, 62 % needed")
    )
    said = words(unsure)
    assert "unsure" in said
    assert "41 % sure, 62 % needed" in said
    assert window.pixels_of(window.drawn(unsure), EMOTION_HEX["happiness"]) == 0


def test_each_bar_has_a_mark_of_its_own_kind_of_bar(
    window: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks: list[tuple[float, bool]] = []
    monkeypatch.setattr(
        panels, "_draw_mark", lambda image, track, share, highest, _: marks.append((share, highest))
    )
    window.drawn(
        window.frame_readings(window.reading(window.shares(happiness=0.52, surprise=0.31)))
    )
    assert len(marks) == len(EMOTIONS)
    assert marks[EMOTIONS.index("happiness")] == (
        pytest.approx(reliability_at(window.MODEL.evaluation.reliability, 0.52), abs=1e-3),
        True,
    )
    assert marks[EMOTIONS.index("surprise")] == (
        pytest.approx(reliability_at(window.MODEL.evaluation.other_bars, 0.31), abs=1e-3),
        False,
    )


def test_raw_bars_are_those_of_the_frame_alone(window: Any, words: Callable[..., str]) -> None:
    both = replace(window.HAPPY, raw=window.shares(happiness=0.55))
    assert "83 %" in words(window.frame_readings(both))
    raw = words(window.frame_readings(both), controls=Controls(smoothed=False))
    assert "55 %" in raw
    assert "raw" in raw


def test_a_headline_alone_shows_its_number_or_its_reason(window: Any, texts: list[str]) -> None:
    sizes = Sizes(1.0)
    width, height = panels.panel_sizes(len(EMOTIONS), sizes)[panels.HEADLINE]
    for reading in (
        window.reading(window.shares(contempt=0.999)),
        window.reading(window.shares(neutral=0.52, happiness=0.36)),
        window.reading(window.shares(anger=0.42), reason="42 % sure, 51 % needed"),
    ):
        image = np.zeros((100, 400, 3), np.uint8)
        rect, reliability = Rect(20, 20, width, height), Reliability(window.MODEL.evaluation)
        panels.draw_panel(image, rect, panels.HEADLINE, reading, 12, reliability, sizes)
    assert {">99 %", "52 + 36", "42 % sure, 51 % needed", "neutral, with happiness"} <= set(texts)
    assert not any("…" in text for text in texts)
