"""Every face has its caption, and no caption lies over another face."""

from __future__ import annotations

import numpy as np
import pytest

from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.window.captions import Caption, caption_forms, place_captions
from rankotom_edge.views.wording import Headline

AREA = Rect(0, 0, 640, 454)
WIDTHS, HEIGHT = (160, 100, 22), 20


def place(
    boxes: dict[int, Rect], before: dict[int, Caption] | None = None, area: Rect = AREA
) -> dict[int, Caption]:
    return place_captions(boxes, dict.fromkeys(boxes, WIDTHS), HEIGHT, area, before or {})


def check(boxes: dict[int, Rect], captions: dict[int, Caption], area: Rect = AREA) -> None:
    assert captions.keys() == boxes.keys()
    for track, caption in captions.items():
        assert area.contains(caption.rect)
        others = [box for it, box in boxes.items() if it != track]
        others += [other.rect for it, other in captions.items() if it != track]
        assert not any(caption.rect.overlaps(other) for other in others)


def test_a_caption_says_less_where_there_is_less_room() -> None:
    happy = Headline("happiness", "83 %", "")
    assert caption_forms(happy, 2) == ("2 happiness 83 %", "2 happiness", "2")
    assert caption_forms(happy, None) == ("happiness 83 %", "happiness", "83 %")
    assert caption_forms(Headline("unsure", "", "too dark"), None) == ("unsure",)


def test_it_hangs_beneath_its_box_and_above_it_at_the_lower_border() -> None:
    boxes = {1: Rect(100, 100, 90, 90), 2: Rect(400, 370, 84, 84)}
    captions = place(boxes)
    assert captions[1].rect == Rect(65, 190, 160, HEIGHT)
    assert captions[2].rect.bottom == 370


def test_a_face_that_fills_the_picture_has_it_inside() -> None:
    boxes = {1: Rect(90, 0, 454, 454)}
    assert place(boxes)[1].side == "inside"


def test_it_stays_on_its_side_while_a_neighbour_sways() -> None:
    captions: dict[int, Caption] = {}
    sides = []
    for tremble in (0, 3, -3, 2, -2, 3, -3):
        boxes = {1: Rect(200, 100, 90, 90), 2: Rect(200, 239 + tremble, 90, 90)}
        captions = place(boxes, captions)
        sides.append(captions[1].side)
    assert sides == ["beneath", "beneath", *["above"] * 5]


@pytest.mark.parametrize("count", [2, 3, 8, 18])
def test_no_caption_lies_over_another_face_wherever_people_stand(count: int) -> None:
    random = np.random.default_rng(count)
    captions: dict[int, Caption] = {}
    for _ in range(200):
        boxes = {}
        for track in range(1, count + 1):
            side = random.uniform(30, 300 / count**0.5)
            x, y = random.uniform(0, 640 - side), random.uniform(0, 454 - side)
            boxes[track] = Rect(x, y, side, side)
        captions = place(boxes, captions)
        check(boxes, captions)


def test_it_keeps_off_the_hair_of_others_while_there_is_room() -> None:
    boxes = {1: Rect(200, 200, 60, 60), 2: Rect(290, 190, 60, 60)}
    captions = place(boxes)
    check(boxes, captions)
    hair = Rect(290, 190 - 15, 60, 15)
    assert not captions[1].rect.overlaps(hair)


def test_a_face_within_another_has_it_beside_both() -> None:
    boxes = {1: Rect(100, 60, 300, 300), 2: Rect(200, 160, 80, 80)}
    captions = place(boxes)
    check(boxes, captions)
    assert captions[2].side == "apart"
