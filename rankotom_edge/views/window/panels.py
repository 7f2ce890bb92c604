"""Draws the panel of a face: the headline, a bar per emotion, the reliability marks."""

from collections.abc import Sequence

import numpy as np

from rankotom_edge.frame import Image
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.reading import Reading, bar_reliability
from rankotom_edge.views.drawing.canvas import draw_pane, draw_text, fill_rect
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.drawing.sizes import Sizes
from rankotom_edge.views.drawing.text import line_height, text_width
from rankotom_edge.views.palette import GROUND, QUIET, TEXT, mix, reading_colour, text_colour_on
from rankotom_edge.views.window.panel_placement import Size
from rankotom_edge.views.wording import Headline, headline, named_emotions, percent

FULL, SHORT, HEADLINE = range(3)  # the levels of a panel: all bars, the highest three, no bars
SHORT_BARS = 3


def panel_sizes(labels: int, sizes: Sizes) -> tuple[Size, Size, Size]:
    """One per level."""
    full, short = (
        (sizes.panel_width, 2 * sizes.pad - sizes.px(4) + sizes.head + sizes.row * bars)
        for bars in (labels, min(labels, SHORT_BARS))
    )
    return full, short, (sizes.px(168), sizes.px(44))


def draw_panel(
    image: Image,
    rect: Rect,
    level: int,
    reading: Reading,
    number: int | None,
    reliability: Reliability,
    sizes: Sizes,
) -> None:
    """``number`` is the face's, if there are several to tell apart."""
    draw_pane(image, rect, sizes.radius)
    _draw_stripe(image, rect, reading, sizes)
    words = headline(reading, reliability)
    if level == HEADLINE:
        _draw_headline_alone(image, rect, words, number, sizes)
        return
    _draw_headline(image, rect, words, number, sizes)
    for row, index in enumerate(_bars_shown(reading, level)):
        top = rect.y + sizes.pad - sizes.px(2) + sizes.head + row * sizes.row
        line = Rect(rect.x, top, rect.width, sizes.row)
        _draw_bar(image, line, reading, index, reliability, sizes)


def _bars_shown(reading: Reading, level: int) -> Sequence[int]:
    """Indexes of the emotions that have a bar, in the model's order."""
    everything = range(len(reading.labels))
    if level == FULL:
        return everything
    # Sorted by whole per cents: near zero the exact order changes at every frame.
    highest = np.argsort(-reading.probabilities.round(2), kind="stable")[:SHORT_BARS]
    return sorted(int(index) for index in highest)


def _draw_stripe(image: Image, rect: Rect, reading: Reading, sizes: Sizes) -> None:
    """The expression's colour on the panel's edge; a blend has both, in proportion."""
    width, inset = sizes.px(3), sizes.px(6)
    line = Rect(rect.x + sizes.px(3), rect.y + inset, width, rect.height - 2 * inset)
    blend = reading.blend if reading.verdict == "sure" else None
    if blend is None:
        fill_rect(image, line, reading_colour(reading), width / 2)
        return
    share = blend.first_share / (blend.first_share + blend.second_share)
    upper = round(line.height * share)
    first, second = (reading.labels.index(name) for name in (blend.first, blend.second))
    for part, index in (
        (Rect(line.x, line.y, width, upper - 1), first),
        (Rect(line.x, line.y + upper + 1, width, line.height - upper - 1), second),
    ):
        fill_rect(image, part, reading_colour(reading, index), width / 2)


def _draw_headline(
    image: Image, rect: Rect, words: Headline, number: int | None, sizes: Sizes
) -> None:
    left, right = rect.x + sizes.pad + sizes.px(2), rect.right - sizes.pad
    top = rect.y + sizes.pad - sizes.px(3)
    if number is not None:
        left += _draw_number(image, number, left, top, sizes) + sizes.px(6)
    room, gap = right - left, sizes.px(8)
    title, quantity = sizes.title, text_width(words.number, sizes.title, bold=True)
    if text_width(words.title, title, bold=True) + gap + quantity <= room:
        draw_text(image, words.number, (right, top), title, TEXT, bold=True, right=True)
    else:
        while text_width(words.title, title, bold=True) > room and title > sizes.text:
            title -= 1
    lowered = top + (line_height(sizes.title, bold=True) - line_height(title, bold=True))
    colour = QUIET if not words.number else TEXT
    draw_text(image, words.title, (left, lowered), title, colour, bold=True, room=room)
    under = top + sizes.px(20)
    beneath = rect.x + sizes.pad + sizes.px(2)
    room = rect.right - sizes.px(5) - beneath
    draw_text(image, words.detail, (beneath, under), sizes.text, QUIET, room=room)


def _draw_headline_alone(
    image: Image, rect: Rect, words: Headline, number: int | None, sizes: Sizes
) -> None:
    """The title, and beneath it the number or the reason for being unsure."""
    left, right = rect.x + sizes.pad + sizes.px(1), rect.right - sizes.px(5)
    top = rect.y + sizes.px(4)
    if number is not None:
        left += _draw_number(image, number, left, top, sizes) + sizes.px(5)
    colour = TEXT if words.number else QUIET
    title = sizes.text
    while text_width(words.title, title, bold=True) > right - left and title > sizes.px(9):
        title -= 1
    draw_text(image, words.title, (left, top), title, colour, bold=True, room=right - left)
    beneath = (rect.x + sizes.pad + sizes.px(1), top + sizes.px(18))
    line = words.number or words.detail
    draw_text(image, line, beneath, sizes.text, colour, room=right - beneath[0])


def _draw_number(image: Image, number: int, x: float, y: float, sizes: Sizes) -> int:
    return draw_text(image, str(number), (x, y), sizes.text, QUIET)


def _draw_bar(
    image: Image, row: Rect, reading: Reading, index: int, reliability: Reliability, sizes: Sizes
) -> None:
    share = float(reading.probabilities[index])
    stands_out = reading.labels[index] in named_emotions(reading)
    colour = TEXT if stands_out else QUIET
    left, right = row.x + sizes.pad + sizes.px(2), row.right - sizes.pad
    draw_text(image, reading.labels[index], (left, row.y), sizes.text, colour, bold=False)
    draw_text(image, percent(share), (right, row.y), sizes.text, colour, right=True)

    start, end = left + sizes.px(70), right - sizes.px(46)
    height = sizes.px(8)
    middle = row.y + line_height(sizes.text) * 0.57
    track = Rect(start, round(middle - height / 2), end - start, height)
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


def draw_badge(image: Image, reading: Reading, at: tuple[float, float], sizes: Sizes) -> None:
    """The number of a face, in the corner of its box or its crop."""
    number, (x, y) = str(reading.track), at
    width = text_width(number, sizes.text, bold=True) + sizes.px(8)
    ground = Rect(x, y, width, line_height(sizes.text) + sizes.px(2))
    colour = reading_colour(reading)
    fill_rect(image, ground, colour, sizes.px(3))
    ink = text_colour_on(colour)
    draw_text(image, number, (x + sizes.px(4), y), sizes.text, ink, bold=True)
