"""Faces and bars stay where they are while others come, go and tremble."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.terminal.face_order import FaceOrder, update_order


def numbers(lines: list[str]) -> list[int]:
    """Of the faces whose headlines are on the page."""
    return [int(number) for line in lines for number in re.findall(r"(\d+) happiness", line)]


def of_size(reading: Reading, side: float) -> Reading:
    x, y, _, _ = reading.face.box
    return replace(reading, face=replace(reading.face, box=(x, y, side, side)))


def test_who_is_shown_stays_while_they_are_there(printed: Any, showing: Any) -> None:
    near, far = 130, 120
    readings = [showing.reading(track, happiness=0.9) for track in range(1, 7)]
    first = showing.frame_readings(
        *(of_size(reading, near - reading.track) for reading in readings)
    )
    second = showing.frame_readings(
        *(of_size(reading, far + reading.track) for reading in readings)
    )
    order = update_order(first, {})
    for latest in (first, second, first, second):
        order = update_order(latest, order)
        assert numbers(printed(latest, size=(30, 6), order=order)) == [1, 2, 3, 4]
    without = showing.frame_readings(*(reading for reading in readings if reading.track != 2))
    order = update_order(without, order)
    assert list(order) == [1, 3, 4, 5, 6]
    order = update_order(second, order)
    assert numbers(printed(second, size=(30, 6), order=order)) == [1, 3, 4, 5]


def test_the_rows_of_a_shortened_face_stay_while_small_bars_tremble(
    printed: Any, showing: Any
) -> None:
    def rows(order: FaceOrder) -> list[str]:
        page = printed(latest, size=(40, 6), order=order)
        return [line.split()[0] for line in page[2:5]]

    order: FaceOrder = {}
    for fear, contempt in ((0.016, 0.014), (0.014, 0.016), (0.016, 0.014), (0.012, 0.022)):
        shares = {"happiness": 0.9, "neutral": 0.05, "fear": fear, "contempt": contempt}
        latest = showing.frame_readings(showing.reading(**shares))
        order = update_order(latest, order)
        assert rows(order) == ["neutral", "happiness", "fear"]
    latest = showing.frame_readings(showing.reading(happiness=0.85, neutral=0.05, contempt=0.08))
    order = update_order(latest, order)
    assert rows(order) == ["neutral", "happiness", "contempt"]


def test_a_bar_of_the_headline_is_shown_however_little_it_is_ahead(
    printed: Any, showing: Any
) -> None:
    before = update_order(showing.frame_readings(showing.reading(happiness=0.45, fear=0.44)), {})
    latest = showing.frame_readings(showing.reading(happiness=0.44, fear=0.45))
    page = printed(latest, size=(40, 4), order=update_order(latest, before))
    assert page[2].split()[0] == "fear"
