"""The caption of each face: its reading in a word or two, attached to its box.

A caption lies beneath its box, or above it, or inside it; never over another face's box, and never
over another caption. It is cut to the face's number where there is no room for its words. Between
faces that cover each other it stands beside them, and a line leads to its box.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import cv2

from rankotom_edge.frame import Image
from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.drawing.sizes import Sizes
from rankotom_edge.views.palette import GROUND, headline_colour
from rankotom_edge.views.wording import Headline

OUTSIDE, INSIDE, APART = ("beneath", "above"), ("inside", "inside above"), "apart"
HAIR = 0.3  # of a box's height, above it: kept free of captions while there is room
ALIGNS = (0.5, 0.0, 1.0)  # in the middle of its box, at its left edge, at its right edge


class Caption(NamedTuple):
    rect: Rect
    form: int  # 0 is the longest
    side: str  # of OUTSIDE or INSIDE, or APART
    align: float = 0.5


def caption_forms(words: Headline, number: int | None) -> tuple[str, ...]:
    """What a caption may say, the longest first; ``number`` is the face's among several."""
    prefix = "" if number is None else f"{number} "
    whole, title = f"{prefix}{words.title} {words.number}".strip(), f"{prefix}{words.title}"
    return tuple(dict.fromkeys((whole, title, prefix.strip() or words.number or words.title)))


def place_captions(
    boxes: Mapping[int, Rect],
    widths: Mapping[int, Sequence[int]],
    height: int,
    area: Rect,
    before: Mapping[int, Caption],
) -> dict[int, Caption]:
    """By track. ``widths`` of the forms; ``before`` are the captions of the frame before, which
    stay on their side of the face while there is room."""
    placed: dict[int, Caption] = {}
    hair = {
        track: box._replace(y=box.y - HAIR * box.height, height=HAIR * box.height)
        for track, box in boxes.items()
    }
    for (track, box), kept_free in product(boxes.items(), (hair, {})):
        if track in placed:
            continue
        taken = [other for each in (boxes, kept_free) for it, other in each.items() if it != track]
        taken += [caption.rect for caption in placed.values()]
        last = before.get(track)
        for caption in _candidates(box, widths[track], height, area, taken, last):
            if not any(caption.rect.overlaps(other) for other in taken):
                placed[track] = caption
                break
    return placed


def _candidates(
    box: Rect,
    widths: Sequence[int],
    height: int,
    area: Rect,
    taken: Sequence[Rect],
    last: Caption | None,
) -> Iterator[Caption]:
    """The best first, all within ``area``."""
    tops = dict(zip(OUTSIDE, (box.bottom, box.y - height), strict=True))
    tops |= dict(zip(INSIDE, (box.bottom - height, box.y), strict=True))
    every = range(len(widths))
    for sides, forms in ((OUTSIDE, every[:-1]), (OUTSIDE, every[-1:]), (INSIDE, every)):
        for side in sorted(sides, key=lambda side: last is None or side != last.side):
            for form in forms:
                width = widths[form]
                for align in sorted(ALIGNS, key=lambda align: last is None or align != last.align):
                    x = box.x + align * (box.width - width)
                    rect = Rect(min(max(x, area.x), area.right - width), tops[side], width, height)
                    if area.contains(rect):
                        yield Caption(rect, form, side, align)
    form, width = every[-1], widths[-1]
    apart = [
        Rect(x, y, width, height)
        for other in taken
        for x in (box.x, other.x, other.x - width, other.right)
        for y in (box.y, other.y - height, other.bottom)
    ]
    apart.sort(key=lambda rect: math.dist(_middle(rect), _middle(box)))
    yield from (Caption(rect, form, APART) for rect in apart if area.contains(rect))


def _middle(rect: Rect) -> tuple[float, float]:
    return rect.x + rect.width / 2, rect.y + rect.height / 2


def draw_lead(image: Image, caption: Rect, box: Rect, reading: Reading, sizes: Sizes) -> None:
    """A line from a caption that stands apart to the nearest edge of its box."""
    start = _middle(caption)
    end = (min(max(start[0], box.x), box.right), min(max(start[1], box.y), box.bottom))
    line = [(round(x), round(y)) for x, y in (start, end)]
    for colour, width in ((GROUND, sizes.px(3)), (headline_colour(reading), sizes.px(1.4))):
        cv2.line(image, line[0], line[1], colour, width, cv2.LINE_AA)
