"""The cards of the faces in the column: which of them, how large, and what each shows."""

from typing import NamedTuple

from rankotom_edge.frame import Image
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.reading import Reading, bar_reliability
from rankotom_edge.views.drawing.canvas import draw_text, fill_rect
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.drawing.sizes import Sizes
from rankotom_edge.views.drawing.tag import draw_tag, tag_height, tag_width
from rankotom_edge.views.drawing.text import line_height, text_width
from rankotom_edge.views.palette import CARD, GROUND, QUIET, TEXT, mix, reading_colour
from rankotom_edge.views.presenter import bars_shown
from rankotom_edge.views.wording import Headline, headline, named_emotions, percent

# One face alone; all bars; the highest three; the headline in two lines, and in one.
STAGE, FULL, SHORT, COMPACT, LINE = range(5)
HEADLINE_HEIGHTS = {COMPACT: 44, LINE: 25}  # in units
SHORT_BARS = 3
OWN_LINE = 28  # the height of a row in which the bar has a line of its own, in units
GROWS_AFTER = 4.0  # seconds in which larger cards would have fitted; chosen by eye


class Grid(NamedTuple):
    """Places for cards, row by row."""

    rects: tuple[Rect, ...]
    left_out: Rect | None  # where the number of faces without a card is written


class SteadyLevel:
    """Cards become smaller at once, and larger only when there has been room for a while."""

    def __init__(self) -> None:
        self._level, self._needed = LINE, float("-inf")
        self._room: object = None

    def update(self, largest: int, room: object, now: float) -> int:
        """``largest`` that fits; in a new ``room`` it is taken at once."""
        waited = not 0 <= now - self._needed <= GROWS_AFTER
        if room != self._room or largest >= self._level or waited:
            self._level, self._needed, self._room = largest, now, room
        return self._level


def card_height(level: int, labels: int, sizes: Sizes) -> int:
    if level in HEADLINE_HEIGHTS:
        return sizes.px(HEADLINE_HEIGHTS[level])
    bars = labels if level <= FULL else min(labels, SHORT_BARS)
    return 2 * sizes.pad - sizes.px(4) + sizes.head + sizes.row * bars


def largest_level(count: int, labels: int, area: Rect, sizes: Sizes) -> int:
    """The largest cards of which all fit, below the stage; else single lines."""
    for level in (FULL, SHORT, COMPACT):
        columns, rows = _shape(level, labels, area, sizes)
        if columns * rows >= count:
            return level
    return LINE


def card_grid(count: int, level: int, labels: int, area: Rect, sizes: Sizes) -> Grid:
    columns, rows = _shape(level, labels, area, sizes)
    left_out = None
    gap, height = _gap(level, sizes), card_height(level, labels, sizes)
    if count > columns * rows:
        line = line_height(sizes.text) + sizes.px(4)
        columns, rows = _shape(level, labels, area._replace(height=area.height - line), sizes)
        below = area.y + rows * (height + gap) - gap
        left_out = Rect(area.x, below + sizes.px(4), area.width, line)
    if count <= rows:
        columns = 1  # in a wide column too: a card is as easy to find as a line in a list
    width = (area.width - gap * (columns - 1)) / max(1, columns)
    return Grid(
        tuple(
            Rect(area.x + column * (width + gap), area.y + row * (height + gap), width, height)
            for row in range(rows)
            for column in range(columns)
        )[:count],
        left_out,
    )


def _shape(level: int, labels: int, area: Rect, sizes: Sizes) -> tuple[int, int]:
    """Columns and rows."""
    gap = _gap(level, sizes)
    width = sizes.px(170) if level in HEADLINE_HEIGHTS else sizes.card_width
    columns = max(1, int((area.width + gap) // (width + gap)))
    rows = int((area.height + gap) // (card_height(level, labels, sizes) + gap))
    return columns, max(0, rows)


def _gap(level: int, sizes: Sizes) -> int:
    return sizes.px(3) if level == LINE else sizes.gap


def draw_card(
    image: Image,
    rect: Rect,
    level: int,
    reading: Reading,
    number: int | None,
    reliability: Reliability,
    sizes: Sizes,
) -> None:
    """``number`` is the face's, if there are several to tell apart."""
    fill_rect(image, rect, CARD, sizes.radius)
    words = headline(reading, reliability)
    _draw_headline(image, rect, words, reading, number, sizes, level)
    if level in HEADLINE_HEIGHTS:
        return
    bars = len(reading.labels) if level <= FULL else SHORT_BARS
    for row, index in enumerate(bars_shown(reading, bars)):
        top = rect.y + sizes.pad - sizes.px(2) + sizes.head + row * sizes.row
        line = Rect(rect.x + sizes.pad, top, rect.width - 2 * sizes.pad, sizes.row)
        draw_bar(image, line, reading, index, reliability, sizes)


def _draw_headline(
    image: Image,
    rect: Rect,
    words: Headline,
    reading: Reading,
    number: int | None,
    sizes: Sizes,
    level: int,
) -> None:
    left, right = rect.x + sizes.pad, rect.right - sizes.pad
    compact = level in HEADLINE_HEIGHTS
    top = rect.y + (sizes.px(4) if compact else sizes.pad - sizes.px(3))
    title = sizes.text if compact else sizes.title
    if number is not None:
        draw_tag(
            image,
            (left, top + (line_height(title, bold=True) - tag_height(sizes)) / 2),
            str(number),
            reading,
            sizes,
        )
        left += tag_width(str(number), sizes) + sizes.px(7)
    beneath, full = words.detail, title
    if text_width(f"{words.title}  {words.number}", title, bold=True) <= right - left:
        draw_text(image, words.number, (right, top), title, TEXT, bold=True, right=True)
    else:
        both = "  ".join(filter(None, (words.number, words.detail)))
        fits = text_width(both, sizes.text) <= rect.width - sizes.pad - sizes.px(4)
        beneath = both if fits or not words.number else words.number  # the bars show which two
        while text_width(words.title, title, bold=True) > right - left and title > sizes.text:
            title -= 1
    lowered = top + line_height(full, bold=True) - line_height(title, bold=True)
    colour = TEXT if words.number else QUIET
    left += draw_text(
        image, words.title, (left, lowered), title, colour, bold=True, room=right - left
    )
    if level == LINE:
        if not words.number:
            at = (left + sizes.px(8), top)
            draw_text(image, words.detail, at, sizes.text, QUIET, room=right - at[0])
        return
    at = (rect.x + sizes.pad, top + sizes.px(19 if compact else 20))
    draw_text(image, beneath, at, sizes.text, QUIET, room=rect.right - sizes.px(4) - at[0])


def draw_bar(
    image: Image,
    row: Rect,
    reading: Reading,
    index: int,
    reliability: Reliability,
    sizes: Sizes,
) -> None:
    """The emotion's name, its bar with the mark, and the percentage; in a high row the bar has a
    line of its own."""
    share = float(reading.probabilities[index])
    stands_out = reading.labels[index] in named_emotions(reading)
    colour = TEXT if stands_out else QUIET
    height, own_line = sizes.px(8), row.height >= sizes.px(OWN_LINE)
    y = row.y if own_line else row.y + (row.height - sizes.row) / 2
    names = max(text_width(name, sizes.text) for name in reading.labels) + sizes.px(8)
    names = round(row.width * 0.7) if own_line else min(names, round(row.width * 0.45))
    at, room = (row.x, y), names - sizes.px(4)
    draw_text(image, reading.labels[index], at, sizes.text, colour, room=room)
    draw_text(image, percent(share), (row.right, y), sizes.text, colour, right=True)
    if own_line:
        track = Rect(row.x, round(y + sizes.px(16)), row.width, height)
    else:
        middle = round(y + line_height(sizes.text) * 0.57 - height / 2)
        end = row.right - text_width(">99 %", sizes.text) - sizes.px(8)
        track = Rect(row.x + names, middle, end - row.x - names, height)
    radius = height / 4
    fill_rect(image, track, TEXT, radius, opacity=0.10)
    length = round(share * track.width)
    if length > 0:
        tone = reading_colour(reading, index)
        fill_rect(
            image,
            Rect(track.x, track.y, length, height),
            tone if stands_out else mix(tone, GROUND, 0.30),
            min(radius, length / 2),
        )
    right_share = bar_reliability(reading, index, reliability)
    if right_share is not None:
        _draw_mark(image, track, right_share, reading.labels[index] == reading.top, sizes)


def _draw_mark(image: Image, track: Rect, share: float, highest: bool, sizes: Sizes) -> None:
    """Where the bar would end if it were perfectly reliable. Lower bars have a smaller mark."""
    width, reach = (sizes.px(1.6), sizes.px(2.5)) if highest else (sizes.px(1), 0)
    x = track.x + share * track.width - width / 2
    stroke = Rect(round(x), track.y - reach, width, track.height + 2 * reach)
    fill_rect(image, stroke.grow(max(1, sizes.px(0.6))), GROUND, 0, opacity=0.75)
    fill_rect(image, stroke, TEXT if highest else QUIET)
