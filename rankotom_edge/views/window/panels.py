"""A face's panel in the window: the headline, a bar for each emotion, the marks of reliability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankotom_edge.frame import Image
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.reading import Reading, bar_reliability
from rankotom_edge.views.palette import (
    FAINT_HEX,
    GROUND_HEX,
    HALF_BRIGHT,
    QUIET_HEX,
    TEXT_HEX,
    Colour,
    bgr,
    brightness,
    emotion_hex,
    mixed,
)
from rankotom_edge.views.drawing.canvas import fill, glass, write
from rankotom_edge.views.window.panel_placement import Rect, Size
from rankotom_edge.views.drawing.text import line_height, text_width
from rankotom_edge.views.wording import Headline, headline, named, percent

TEXT, QUIET, FAINT, GROUND = (bgr(name) for name in (TEXT_HEX, QUIET_HEX, FAINT_HEX, GROUND_HEX))

FULL, SHORT, HEADLINE = range(3)  # the levels of a panel: all bars, the highest three, no bars
SHORT_BARS = 3


@dataclass(frozen=True)
class Measures:
    """The sizes of everything, in pixels; ``unit`` is 1 where the picture has 480 lines."""

    unit: float

    def px(self, length: float) -> int:
        return max(1, round(length * self.unit))

    @cached_property
    def text(self) -> int:
        return self.px(12)

    @cached_property
    def title(self) -> int:
        return self.px(15)

    @cached_property
    def pad(self) -> int:
        return self.px(10)

    @cached_property
    def row(self) -> int:
        return self.px(16)

    @cached_property
    def head(self) -> int:
        """The headline and the line beneath it."""
        return self.px(40)

    @cached_property
    def width(self) -> int:
        return self.px(208)

    @cached_property
    def radius(self) -> int:
        return self.px(7)

    def panel_sizes(self, labels: int) -> tuple[Size, Size, Size]:
        """Of a full panel, a short one, and a headline alone."""
        full, short = (
            (self.width, 2 * self.pad - self.px(4) + self.head + self.row * bars)
            for bars in (labels, min(labels, SHORT_BARS))
        )
        return full, short, (self.px(168), self.px(44))


def draw_panel(
    image: Image,
    rect: Rect,
    level: int,
    reading: Reading,
    number: int | None,
    reliability: Reliability,
    measures: Measures,
) -> None:
    """``number``: the face's, where there are several to tell apart."""
    glass(image, rect, measures.radius)
    _stripe(image, rect, reading, measures)
    words = headline(reading, reliability)
    if level == HEADLINE:
        _headline_alone(image, rect, words, number, measures)
        return
    _headline(image, rect, words, number, measures)
    for row, index in enumerate(_shown(reading, level)):
        top = rect.y + measures.pad - measures.px(2) + measures.head + row * measures.row
        line = Rect(rect.x, top, rect.width, measures.row)
        _bar(image, line, reading, index, reliability, measures)


def reading_colour(reading: Reading, index: int | None = None) -> Colour:
    """The emotion's; faded towards grey where the reading is unsure."""
    index = int(np.argmax(reading.probabilities)) if index is None else index
    colour = bgr(emotion_hex(reading.labels, index))
    return mixed(colour, bgr("#8c949e"), 0.75) if reading.verdict == "unsure" else colour


def _shown(reading: Reading, level: int) -> Sequence[int]:
    """Which emotions have a bar, always in the model's order."""
    everything = range(len(reading.labels))
    if level == FULL:
        return everything
    # By whole per cents, and by the model's order among equals: near zero they change places at
    # every frame.
    highest = np.argsort(-reading.probabilities.round(2), kind="stable")[:SHORT_BARS]
    return sorted(int(index) for index in highest)


def _stripe(image: Image, rect: Rect, reading: Reading, measures: Measures) -> None:
    """The expression's colour on the panel's edge; of a blend both, each by its part."""
    width, inset = measures.px(3), measures.px(6)
    line = Rect(rect.x + measures.px(3), rect.y + inset, width, rect.height - 2 * inset)
    blend = reading.blend if reading.verdict == "sure" else None
    if blend is None:
        fill(image, line, reading_colour(reading), width / 2)
        return
    share = blend.first_share / (blend.first_share + blend.second_share)
    upper = round(line.height * share)
    first, second = (reading.labels.index(name) for name in (blend.first, blend.second))
    for part, index in (
        (Rect(line.x, line.y, width, upper - 1), first),
        (Rect(line.x, line.y + upper + 1, width, line.height - upper - 1), second),
    ):
        fill(image, part, reading_colour(reading, index), width / 2)


def _headline(
    image: Image, rect: Rect, words: Headline, number: int | None, measures: Measures
) -> None:
    left, right = rect.x + measures.pad + measures.px(2), rect.right - measures.pad
    top = rect.y + measures.pad - measures.px(3)
    if number is not None:
        tag = _tag(image, number, left, top, measures)
        left += tag + measures.px(6)
    room, gap = right - left, measures.px(8)
    title, quantity = measures.title, text_width(words.number, measures.title, bold=True)
    if text_width(words.title, title, bold=True) + gap + quantity <= room:
        write(image, words.number, (right, top), title, TEXT, bold=True, right=True)
    else:
        while text_width(words.title, title, bold=True) > room and title > measures.text:
            title -= 1
    lowered = top + (line_height(measures.title, bold=True) - line_height(title, bold=True))
    colour = QUIET if not words.number else TEXT
    write(image, words.title, (left, lowered), title, colour, bold=True, room=room)
    under = top + measures.px(20)
    beneath = rect.x + measures.pad + measures.px(2)
    room = rect.right - measures.px(5) - beneath
    write(image, words.detail, (beneath, under), measures.text, QUIET, room=room)


def _headline_alone(
    image: Image, rect: Rect, words: Headline, number: int | None, measures: Measures
) -> None:
    """The title, and beneath it the number or why it is unsure."""
    left, right = rect.x + measures.pad + measures.px(1), rect.right - measures.px(5)
    top = rect.y + measures.px(4)
    if number is not None:
        left += _tag(image, number, left, top, measures) + measures.px(5)
    colour = TEXT if words.number else QUIET
    title = measures.text
    while text_width(words.title, title, bold=True) > right - left and title > measures.px(9):
        title -= 1
    write(image, words.title, (left, top), title, colour, bold=True, room=right - left)
    beneath = (rect.x + measures.pad + measures.px(1), top + measures.px(18))
    said = words.number or words.detail
    write(image, said, beneath, measures.text, colour, room=right - beneath[0])


def _tag(image: Image, number: int, x: float, y: float, measures: Measures) -> int:
    return write(image, str(number), (x, y), measures.text, QUIET)


def _bar(
    image: Image,
    row: Rect,
    reading: Reading,
    index: int,
    reliability: Reliability,
    measures: Measures,
) -> None:
    share = float(reading.probabilities[index])
    stands_out = reading.labels[index] in named(reading)
    colour = TEXT if stands_out else QUIET
    left, right = row.x + measures.pad + measures.px(2), row.right - measures.pad
    write(image, reading.labels[index], (left, row.y), measures.text, colour, bold=False)
    write(image, percent(share), (right, row.y), measures.text, colour, right=True)

    start, end = left + measures.px(70), right - measures.px(46)
    height = measures.px(8)
    middle = row.y + line_height(measures.text) * 0.57
    track = Rect(start, round(middle - height / 2), end - start, height)
    radius = height / 4
    fill(image, track, TEXT, radius, opacity=0.10)
    length = round(share * track.width)
    if length > 0:
        tone = reading_colour(reading, index)
        fill(
            image,
            Rect(track.x, track.y, length, height),
            tone if stands_out else mixed(tone, GROUND, 0.30),
            min(radius, length / 2),
        )
    right_share = bar_reliability(reading, index, reliability)
    if right_share is not None:
        _mark(image, track, right_share, reading.labels[index] == reading.top, measures)


def _mark(image: Image, track: Rect, share: float, highest: bool, measures: Measures) -> None:
    """Where the bar would end if it were exactly right; a smaller one on the lower bars."""
    width, reach = (measures.px(1.6), measures.px(2.5)) if highest else (measures.px(1), 0)
    x = track.x + share * track.width - width / 2
    stroke = Rect(round(x), track.y - reach, width, track.height + 2 * reach)
    fill(image, stroke.grown(max(1, measures.px(0.6))), GROUND, 0, opacity=0.75)
    fill(image, stroke, TEXT if highest else QUIET)


def badge(image: Image, reading: Reading, at: tuple[float, float], measures: Measures) -> None:
    """The face's number as its panel has it, on a corner of its box or its crop."""
    number, (x, y) = str(reading.track), at
    width = text_width(number, measures.text, bold=True) + measures.px(8)
    ground = Rect(x, y, width, line_height(measures.text) + measures.px(2))
    colour = reading_colour(reading)
    fill(image, ground, colour, measures.px(3))
    ink = GROUND if brightness(colour) > HALF_BRIGHT else TEXT
    write(image, number, (x + measures.px(4), y), measures.text, ink, bold=True)
