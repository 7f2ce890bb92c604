"""Panels and column stay calm while people move, come and go."""

from __future__ import annotations

from typing import Any

from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.window.overlay import PANEL_STAYS_IN_COLUMN, Overlay, size_within


def test_panels_stay_where_they_are_while_a_face_trembles(window: Any) -> None:
    overlay = Overlay(window.MODEL)
    places = set()
    for index, tremble in enumerate((0, 2, -1, 1, -2, 0)):
        face = window.face_in(100 + tremble, 120 - tremble, 110)
        shown = window.frame_readings(
            window.reading(window.shares(happiness=0.83), face), index=index
        )
        overlay.draw(window.playing(shown))
        places.add(overlay._placement.places[1].rect)
    assert len(places) == 1


def test_panels_beside_an_open_column_stay_where_they_are_while_faces_tremble(window: Any) -> None:
    """In the window as it opens the column is always open; one of the three panels is in it."""
    overlay, places = Overlay(window.MODEL), set()
    for index, tremble in enumerate((0, 2, -1, 1, -2, 0, 2, -2)):
        corners = ((514 + tremble, 236), (248 - tremble, 132), (296, 365 + tremble))
        shown = window.frame_readings(
            *(
                window.reading(
                    window.shares(happiness=0.83), window.face_in(x, y, 100), track=number
                )
                for number, (x, y) in enumerate(corners, 1)
            ),
            index=index,
        )
        overlay.draw(window.playing(shown), size_within((1280, 720), window.playing(shown)))
        places.add(tuple(overlay._placement.places.items()))
    assert len(places) == 1
    assert overlay._placement.in_column


def test_the_column_of_a_crowd_closes_some_seconds_after_it_has_gone(window: Any) -> None:
    overlay = Overlay(window.MODEL)
    crowd = [
        window.reading(
            window.shares(anger=0.9), window.face_in(20 + 105 * (n % 6), 20 + 150 * (n // 6), 95), n
        )
        for n in range(18)
    ]

    def width_at(time: float, *people: Reading) -> int:
        image = overlay.draw(window.playing(window.frame_readings(*people, index=round(30 * time))))
        return int(image.shape[1])

    assert width_at(0.0, window.HAPPY) == 640
    wide = width_at(1.0, *crowd)
    assert wide > 640
    assert width_at(2.0, window.HAPPY) == wide  # not at once: they may come back
    assert width_at(5.0, window.HAPPY) == wide
    width_at(6.5, window.HAPPY)
    assert width_at(7.0, window.HAPPY) == 640
    assert width_at(8.0, *crowd) == wide


def test_a_key_that_is_pressed_again_gives_the_picture_its_size_back(window: Any) -> None:
    overlay = Overlay(window.MODEL)
    near = window.reading(window.shares(happiness=0.83), window.face_in(230, 140, 180))
    widths = [
        overlay.draw(
            window.playing(window.frame_readings(near, index=index), Controls(reliability=asked))
        ).shape[1]
        for index, asked in enumerate((False, True, True, False))
    ]
    assert widths[0] == widths[3] == 640
    assert widths[1] == widths[2] > 640


def test_who_leans_in_and_back_has_a_whole_picture_again(window: Any) -> None:
    overlay = Overlay(window.MODEL)

    def width_at(time: float, side: float) -> int:
        face = window.face_in(320 - side / 2, 260 - side / 2, side)
        shown = window.frame_readings(
            window.reading(window.shares(happiness=0.83), face), index=round(30 * time)
        )
        return int(overlay.draw(window.playing(shown)).shape[1])

    assert width_at(0.0, 120) == 640
    assert width_at(1.0, 380) > 640
    assert width_at(2.0, 120) > 640  # not at once
    assert width_at(6.5, 120) == 640


def test_a_panel_returns_from_an_open_column_when_its_face_has_had_room_for_long(
    window: Any,
) -> None:
    overlay = Overlay(window.MODEL)
    sides = []
    for seconds, width in (
        (0, 320),
        (1, 110),
        (PANEL_STAYS_IN_COLUMN - 1, 110),
        (PANEL_STAYS_IN_COLUMN + 1, 110),
    ):
        face = window.face_in(320 - width / 2, 120, width)
        shown = window.frame_readings(
            window.reading(window.shares(happiness=0.83), face), index=30 * round(seconds)
        )
        overlay.draw(window.playing(shown), size_within((1280, 720), window.playing(shown)))
        sides.append(overlay._placement.places[1].side)
    assert sides[:3] == ["column"] * 3
    assert sides[3] in ("right", "left")
