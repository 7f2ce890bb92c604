"""One face alone: its expression large enough to read across a room, and its last minute."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankotom_edge.frame import Image
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.drawing.canvas import draw_text, fill_rect
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.drawing.sizes import Sizes
from rankotom_edge.views.drawing.text import line_height, text_width, wrap
from rankotom_edge.views.history import Moment
from rankotom_edge.views.palette import (
    CARD,
    GROUND,
    QUIET,
    TEXT,
    UNSURE_HEX,
    bgr,
    emotion_hex,
    headline_colour,
    mix,
    reading_colour,
)
from rankotom_edge.views.window.cards import draw_bar
from rankotom_edge.views.wording import headline

WORD = "surprised"  # fills the column's width; longer words are written smaller
# All chosen by eye. The title's letters at most, as a share of the column's height; the height of
# the strip, and of a bar's row at most, in units.
LARGEST, STRIP, MAX_ROW = 0.105, 26, 36
STRIPE, STRIPE_ROOM = 5, 14  # the width of the title's coloured edge, without and with its margin
WIDE = 1.15  # a column this much wider than high has the bars beside the title


class Stage(NamedTuple):
    title: Rect
    letters: int  # the height of the title's
    bars: Rect
    row: int
    strip: Rect


def plan_stage(labels: int, area: Rect, sizes: Sizes) -> Stage | None:
    """None where there is no room for it."""
    left = right = area.grow(-sizes.px(4))
    gap = 3 * sizes.gap
    wide = area.width > max(WIDE * area.height, 2 * sizes.card_width + gap)
    if wide:
        half = (left.width - gap) / 2
        left, right = left._replace(width=half), right._replace(x=left.right - half, width=half)
    letters = _letters(left, sizes)
    high = 2 * line_height(letters, bold=True) + line_height(sizes.title) + sizes.px(16)
    strip_height = sizes.px(STRIP + 3) + line_height(sizes.text)
    strip = left._replace(y=left.bottom - strip_height, height=strip_height)
    if not wide:
        right = Rect(left.x, left.y + high, left.width, strip.y - sizes.gap - left.y - high)
    row = min(int(right.height / labels), sizes.px(MAX_ROW))
    if row < sizes.row or left.y + high > strip.y:
        return None
    return Stage(left._replace(height=high), letters, right, row, strip)


def draw_stage(
    image: Image,
    stage: Stage,
    reading: Reading,
    lane: Sequence[Moment | None],
    reliability: Reliability,
    sizes: Sizes,
) -> None:
    _draw_title(image, stage, reading, reliability, sizes)
    for index in range(len(reading.labels)):
        top = stage.bars.y + index * stage.row
        line = stage.bars._replace(y=top, height=stage.row)
        draw_bar(image, line, reading, index, reliability, sizes)
    _draw_last_minute(image, stage.strip, lane, reading.labels, sizes)


def draw_large_words(image: Image, area: Rect, words: str, sizes: Sizes) -> None:
    """What stands in the place of a reading while there is none."""
    area = area.grow(-sizes.px(4))
    draw_text(image, words, (area.x, area.y), _letters(area, sizes), QUIET, bold=True)


def _letters(area: Rect, sizes: Sizes) -> int:
    room = area.width - sizes.px(STRIPE_ROOM)
    fitting = min(100 * room / text_width(WORD, 100, bold=True), LARGEST * area.height)
    return max(sizes.title, int(fitting))


def _draw_title(
    image: Image, stage: Stage, reading: Reading, reliability: Reliability, sizes: Sizes
) -> None:
    """The words and their number, or why it is unsure, always as high as two lines."""
    area, size = stage.title, stage.letters
    line = line_height(size, bold=True)
    _draw_stripe(image, Rect(area.x, area.y + 0.2 * line, sizes.px(STRIPE), 1.8 * line), reading)
    words, beside = headline(reading, reliability), sizes.px(STRIPE_ROOM)
    area = Rect(area.x + beside, area.y, area.width - beside, area.height)
    lines = _two_lines(words.title)
    while size > sizes.text and max(text_width(it, size, bold=True) for it in lines) > area.width:
        size -= 1
    number, detail = words.number, words.detail
    if len(lines) == 1 and number:
        lines, number = (*lines, number), ""
    y = area.y
    for text in lines:
        draw_text(image, text, (area.x, y), size, TEXT if words.number else QUIET, bold=True)
        y += line
    y += sizes.px(4)
    if not words.number:
        for text in wrap(detail, int(area.width), sizes.title):
            draw_text(image, text, (area.x, y), sizes.title, TEXT, room=area.width)
            y += line_height(sizes.title) + sizes.px(3)
        return
    x = area.x
    if number:
        x += draw_text(image, number, (x, y), sizes.title, TEXT, bold=True) + sizes.px(10)
    if text_width(detail, sizes.title) <= area.right - x:  # else the bars show which two
        draw_text(image, detail, (x, y), sizes.title, QUIET)


def _draw_stripe(image: Image, rect: Rect, reading: Reading) -> None:
    """The expression's colour; a blend has both, in proportion."""
    blend, radius = reading.blend if reading.verdict == "sure" else None, rect.width / 2
    if blend is None:
        fill_rect(image, rect, headline_colour(reading), radius)
        return
    upper = rect.height * blend.first_share / (blend.first_share + blend.second_share)
    colours = (
        reading_colour(reading, reading.labels.index(name)) for name in (blend.first, blend.second)
    )
    fill_rect(image, Rect(rect.x, rect.y, rect.width, upper - 1), next(colours), radius)
    lower = Rect(rect.x, rect.y + upper + 1, rect.width, rect.height - upper - 1)
    fill_rect(image, lower, next(colours), radius)


def _two_lines(title: str) -> tuple[str, ...]:
    """Broken where the longer line is shortest."""
    words = title.split()
    if len(words) < 2:
        return (title,)
    broken = [(" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words))]
    return min(broken, key=lambda lines: max(map(len, lines)))


def _draw_last_minute(
    image: Image,
    area: Rect,
    lane: Sequence[Moment | None],
    labels: tuple[str, ...],
    sizes: Sizes,
) -> None:
    line = line_height(sizes.text)
    strip = Rect(area.x, area.y + line + sizes.px(3), area.width, sizes.px(STRIP))
    draw_text(image, "the last minute", (area.x, area.y), sizes.text, QUIET)
    if any(moment is not None and moment.unsure for moment in lane):
        draw_text(image, "hatched: unsure", (area.right, area.y), sizes.text, QUIET, right=True)
    draw_strip(image, strip, lane, labels)


def draw_strip(
    image: Image, rect: Rect, lane: Sequence[Moment | None], labels: tuple[str, ...]
) -> None:
    """In the headline's colours, those of a blend above each other; hatched where unsure."""
    x, y, width, height = rect.pixels
    colours = np.full((2, len(lane), 3), CARD, np.uint8)
    unsure = np.zeros(len(lane), bool)
    for at, moment in enumerate(lane):
        if moment is not None:
            unsure[at] = moment.unsure
            for half, index in enumerate((moment.emotions[0], moment.emotions[-1])):
                colour = bgr(emotion_hex(labels, index))
                colours[half, at] = mix(colour, bgr(UNSURE_HEX), 0.5) if moment.unsure else colour
    moments = np.arange(width) * len(lane) // max(1, width)
    rows = np.arange(height)[:, np.newaxis]
    drawn: NDArray[np.uint8] = colours[(2 * rows) // max(1, height), moments[np.newaxis]]
    hatch = unsure[moments] & ((rows + np.arange(width)) % (height // 3) < height // 6)
    drawn[hatch] = GROUND
    image[y : y + height, x : x + width] = drawn
