"""What a face's card says and shows, and how many cards there are room for."""

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
from rankotom_edge.views.window import cards


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
        image = np.zeros((60, 300, 3), np.uint8)
        reading = window.reading(window.shares(sadness=share), reason=None)
        row = Rect(0, 10, 300, 30)
        index = EMOTIONS.index("sadness")
        cards.draw_bar(image, row, reading, index, Reliability(window.MODEL.evaluation), Sizes(1.0))
        coloured = np.all(image == bgr(EMOTION_HEX["sadness"]), axis=2).any(axis=0)
        lengths.append(int(coloured.nonzero()[0].max()))
    assert lengths == pytest.approx([90, 180, 270], abs=4)  # rounded ends


def test_the_emotions_stand_in_the_order_of_the_model(
    window: Any, words: Callable[..., str]
) -> None:
    said = words(window.frame_readings(window.reading(window.shares(fear=0.7, neutral=0.1))))
    bars = said.split("times in 100", 1)[1]
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
    assert "happily | surprised" in said  # in two lines, on the stage
    assert "happily surprised 52 + 31" in said  # the caption


def test_an_unsure_reading_says_why_and_fades_its_bars(
    window: Any, words: Callable[..., str]
) -> None:
    unsure = window.frame_readings(
        window.reading(window.shares(happiness=0.83), reason="41 % sure, 62 % needed")
    )
    said = words(unsure)
    assert "unsure" in said
    assert "41 % sure, 62 % | needed" in said  # in two lines, on the stage
    assert window.pixels_of(window.drawn(unsure), EMOTION_HEX["happiness"]) == 0


def test_each_bar_has_a_mark_of_its_own_kind_of_bar(
    window: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks: list[tuple[float, bool]] = []
    monkeypatch.setattr(
        cards, "_draw_mark", lambda image, track, share, highest, _: marks.append((share, highest))
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


@pytest.mark.parametrize("level", [cards.COMPACT, cards.LINE])
def test_a_card_without_bars_has_its_number_or_its_reason(
    window: Any, texts: list[str], level: int
) -> None:
    sizes = Sizes(1.0)
    height = cards.card_height(level, len(EMOTIONS), sizes)
    for reading in (
        window.reading(window.shares(contempt=0.999)),
        window.reading(window.shares(happiness=0.52, surprise=0.36)),
        window.reading(window.shares(anger=0.42), reason="too small"),
    ):
        image = np.zeros((100, 400, 3), np.uint8)
        rect, reliability = Rect(20, 20, 260, height), Reliability(window.MODEL.evaluation)
        cards.draw_card(image, rect, level, reading, 12, reliability, sizes)
    expected = {">99 %", "52 + 36", "happily surprised", "too small: come closer", "12"}
    assert expected <= set(texts)


def test_many_faces_get_smaller_cards_and_all_have_one_while_there_is_room() -> None:
    sizes, area = Sizes(1.0), Rect(0, 0, 208, 438)
    levels = [cards.largest_level(count, 8, area, sizes) for count in (1, 2, 3, 4, 5, 8, 9, 15)]
    assert levels[:5] == [cards.FULL, cards.FULL, cards.SHORT, cards.COMPACT, cards.COMPACT]
    assert levels == sorted(levels)
    for count, level in zip((1, 2, 3, 4, 5, 8, 9, 15), levels, strict=True):
        grid = cards.card_grid(count, level, 8, area, sizes)
        assert len(grid.rects) == count
        assert grid.left_out is None
        assert all(area.contains(rect) for rect in grid.rects)


def test_what_does_not_fit_is_counted(window: Any, words: Callable[..., str]) -> None:
    crowd = [
        window.reading(window.shares(anger=0.9), window.face_in(30 * n, 20 * n, 40), n)
        for n in range(1, 19)
    ]
    said = words(window.frame_readings(*crowd), room=(640, 480))
    assert "+3 more faces" in said
    assert "more faces" not in words(window.frame_readings(*crowd), room=(1920, 1080))
