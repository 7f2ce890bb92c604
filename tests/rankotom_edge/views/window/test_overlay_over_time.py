"""Captions and cards stay calm while people move, come and go."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.drawing.picture_area import PictureArea
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.window import overlay as module
from rankotom_edge.views.window.cards import FULL, GROWS_AFTER, SHORT, STAGE, SteadyLevel
from rankotom_edge.views.window.layout import divide_window
from rankotom_edge.views.window.overlay import Overlay

SIZE = (640, 480)


def people_at(window: Any, time: float, count: int) -> list[Reading]:
    """They sway, and every second one crosses the picture and back within 20 s."""
    people = []
    for track in range(1, count + 1):
        side = 60 + 12 * (track % 4)
        x = 20 + (track - 1) * 580 / count + 6 * math.sin(5 * time + track)
        if track % 2:
            x = 280 + 250 * math.sin(2 * math.pi * time / 20 + track)
        y = 40 + 80 * (track % 4) + 5 * math.cos(4 * time + track)
        expression = "happiness" if math.sin(time + track) > 0 else "sadness"
        shares = window.shares(**{expression: 0.8})
        people.append(window.reading(shares, window.face_in(x, y, side), track))
    people.sort(key=lambda reading: reading.face.box[0])  # as a detector may list them
    return people


@pytest.mark.parametrize("room", [(640, 480), (1280, 800), (800, 1200)])
@pytest.mark.parametrize("count", [1, 3, 8, 18])
def test_for_a_minute_every_face_has_a_caption_and_cards_keep_their_order(
    window: Any, monkeypatch: pytest.MonkeyPatch, count: int, room: tuple[int, int]
) -> None:
    cards: list[tuple[int, Rect]] = []

    def note_card(image: Any, rect: Rect, level: int, reading: Reading, *rest: Any) -> None:
        cards.append((reading.track, rect))

    monkeypatch.setattr(module, "draw_card", note_card)
    overlay, places = Overlay(window.MODEL), set()
    layout = divide_window(SIZE, room, status_lines=1)
    for tenth in range(0, 600, 5):
        people = people_at(window, tenth / 10, count)
        cards.clear()
        overlay.draw(window.playing(window.frame_readings(*people, index=3 * tenth)), room)
        check_captions(overlay, people, layout.picture)
        places.add(tuple(cards))
        boxes = [layout.picture.face_rect(reading.face) for reading in people]
        assert not any(rect.overlaps(box) for _, rect in cards for box in boxes)
        tracks = [track for track, _ in cards]
        assert tracks == sorted(tracks)
        assert all(layout.column.contains(rect) for _, rect in cards)
    assert len(places) == 1


def check_captions(overlay: Overlay, people: list[Reading], picture: PictureArea) -> None:
    boxes = {reading.track: picture.face_rect(reading.face) for reading in people}
    assert overlay._captions.keys() == boxes.keys()
    for track, caption in overlay._captions.items():
        others = [box for it, box in boxes.items() if it != track]
        assert not any(caption.rect.overlaps(box) for box in others)


def test_cards_become_smaller_at_once_and_larger_after_a_while() -> None:
    level = SteadyLevel()
    assert level.update(STAGE, "room", 0.0) == STAGE
    assert level.update(SHORT, "room", 1.0) == SHORT
    assert level.update(STAGE, "room", 2.0) == SHORT  # they may come back
    assert level.update(FULL, "room", 1.0 + GROWS_AFTER) == SHORT
    assert level.update(FULL, "room", 1.1 + GROWS_AFTER) == FULL


def test_a_key_that_gives_the_cards_other_room_changes_them_at_once() -> None:
    level = SteadyLevel()
    assert level.update(SHORT, "with the help", 0.0) == SHORT
    assert level.update(STAGE, "without", 0.1) == STAGE


def test_a_clip_that_starts_again_waits_for_nothing() -> None:
    level = SteadyLevel()
    assert level.update(SHORT, "room", 100.0) == SHORT
    assert level.update(STAGE, "room", 0.0) == STAGE


def test_the_picture_keeps_its_place_whoever_comes_and_whatever_is_opened(window: Any) -> None:
    overlay, shapes = Overlay(window.MODEL), set()
    for count, controls in ((0, Controls()), (1, Controls(help=True)), (8, Controls(crop=True))):
        latest = window.frame_readings(*people_at(window, 0.0, count))
        image = overlay.draw(window.playing(latest, controls), (1280, 800))
        corner = divide_window(SIZE, (1280, 800), status_lines=1).picture.rect
        shapes.add(image[int(corner.y) + 1, int(corner.x) + 1].tobytes())
    assert len(shapes) == 1
