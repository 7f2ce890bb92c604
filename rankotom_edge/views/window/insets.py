"""What the keys lay beside the picture: the crops, the reliability diagram, and the help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import cv2
import numpy as np

from rankotom_edge.frame import Image
from rankotom_edge.views.palette import bgr
from rankotom_edge.views.drawing.canvas import fill, glass, outline, write
from rankotom_edge.views.window.panel_placement import Rect
from rankotom_edge.views.window.panels import (
    FAINT,
    GROUND,
    QUIET,
    TEXT,
    Measures,
    badge,
    reading_colour,
)
from rankotom_edge.views.drawing.text import text_width
from rankotom_edge.views.wording import MARKER

if TYPE_CHECKING:
    from calib.evaluation import Evaluation
    from calib.metrics import Bin
    from rankotom_edge.readings.reading import Reading

CARD = bgr("#20252c")
RIGHT, OVER, UNDER = bgr("#6d7886"), bgr("#e69f00"), bgr("#56b4e9")
FEW_FACES = 50  # calib's LARGE_BIN: a bin with fewer proves little
CROPS_IN_A_ROW = 2


def crops_height(readings: Sequence[Reading], measures: Measures) -> int:
    rows = max(1, -(-len(readings) // CROPS_IN_A_ROW))
    return measures.px(26) + rows * (_crop_size(measures) + measures.px(8)) + measures.px(4)


def draw_crops(
    image: Image, rect: Rect, readings: Sequence[Reading], tagged: bool, measures: Measures
) -> None:
    """Each face as the network saw it, its pixels left as they are."""
    _card(image, rect, "as the network sees it", measures)
    size, gap = _crop_size(measures), measures.px(8)
    for place, reading in enumerate(readings):
        row, column = divmod(place, CROPS_IN_A_ROW)
        x = round(rect.x + measures.pad + column * (size + gap))
        y = round(rect.y + measures.px(28) + row * (size + gap))
        if reading.crop is None or y + size > rect.bottom:
            continue
        shown = cv2.resize(_as_bgr(reading.crop), (size, size), interpolation=cv2.INTER_NEAREST)
        image[y : y + size, x : x + size] = shown
        colour = reading_colour(reading)
        outline(image, Rect(x, y, size, size), measures.px(2), colour, measures.px(1), GROUND)
        if tagged:
            badge(image, reading, (x, y), measures)


def _crop_size(measures: Measures) -> int:
    return (measures.width - 2 * measures.pad - measures.px(8)) // CROPS_IN_A_ROW


def _as_bgr(crop: Image) -> Image:
    """(channels, size, size), grey or RGB, as OpenCV draws it."""
    planes = np.repeat(crop, 3, axis=0) if len(crop) == 1 else crop[::-1]
    return np.ascontiguousarray(planes.transpose(1, 2, 0))


def reliability_height(measures: Measures) -> int:
    return measures.px(224)


def draw_reliability(image: Image, rect: Rect, evaluation: Evaluation, measures: Measures) -> None:
    """A bar for each bin of confidence: how often it was right, against the diagonal."""
    _card(image, rect, "% right, by confidence shown", measures)
    side = Rect(
        rect.x + measures.pad + measures.px(24),
        rect.y + measures.px(30),
        rect.width - 2 * measures.pad - measures.px(34),
        measures.px(120),
    )
    for share in (0.0, 0.5, 1.0):
        y = side.bottom - share * side.height
        fill(image, Rect(side.x, round(y), side.width, 1), FAINT, opacity=0.6)
        at = (side.x - measures.px(5), y - measures.px(8))
        write(image, f"{100 * share:.0f}", at, measures.text, QUIET, right=True)
        x = side.x + share * side.width
        half = text_width(f"{100 * share:.0f}", measures.text) / 2
        foot = (x - half, side.bottom + measures.px(3))
        write(image, f"{100 * share:.0f}", foot, measures.text, QUIET)
    for bin_ in evaluation.reliability:
        _column(image, side, bin_)
    cv2.line(
        image,
        (round(side.x), round(side.bottom)),
        (round(side.right), round(side.y)),
        TEXT,
        measures.px(1),
        cv2.LINE_AA,
    )
    _ece_and_colours(image, rect, evaluation, measures)


def _column(image: Image, side: Rect, bin_: Bin) -> None:
    if bin_.accuracy is None or bin_.confidence is None:
        return
    opacity = 1.0 if bin_.count >= FEW_FACES else 0.3
    x, width = side.x + bin_.low * side.width, (bin_.high - bin_.low) * side.width - 1
    accuracy, confidence = bin_.accuracy, bin_.confidence
    lower, upper = sorted((accuracy, confidence))
    height = side.height
    fill(image, Rect(x, side.bottom - lower * height, width, lower * height), RIGHT, 0, opacity)
    gap = Rect(x, side.bottom - upper * height, width, (upper - lower) * height)
    fill(image, gap, OVER if accuracy < confidence else UNDER, 0, opacity)


def _ece_and_colours(image: Image, rect: Rect, evaluation: Evaluation, measures: Measures) -> None:
    x, y, row = rect.x + measures.pad, rect.bottom - measures.px(55), measures.px(16)
    ece = evaluation.metrics["ece"].value
    if ece is None:
        write(image, "this model does not say", (x, y), measures.text, QUIET)
        return
    words = f"ECE {100 * ece:.1f} %, {evaluation.faces}"
    write(image, words, (x, y), measures.text, TEXT, room=rect.width - 2 * measures.pad)
    size = measures.px(8)
    for line, (colour, name) in enumerate(((OVER, "too sure"), (UNDER, "not sure enough")), 1):
        fill(image, Rect(x, y + line * row + measures.px(4), size, size), colour, 1)
        write(image, name, (x + size + measures.px(6), y + line * row), measures.text, QUIET)


def draw_help(image: Image, area: Rect, keys: Mapping[str, str], measures: Measures) -> None:
    """Every key, and what the mark on a bar means, in the middle of the picture."""
    row, key_room = measures.px(21), measures.px(58)
    rows = [*keys.items(), ("", f"the mark on a bar: {MARKER}")]
    widest = max(text_width(words, measures.text) for _, words in rows[:-1])
    width = max(key_room + widest, text_width(rows[-1][1], measures.text)) + 3 * measures.pad
    height = row * len(rows) + 3 * measures.pad
    rect = Rect(
        area.x + (area.width - width) / 2, area.y + (area.height - height) / 2, width, height
    )
    glass(image, rect, measures.radius)
    fill(image, rect, GROUND, measures.radius, opacity=0.55)
    left, top = rect.x + 1.5 * measures.pad, rect.y + 1.5 * measures.pad
    for index, (key, words) in enumerate(rows):
        y = top + index * row
        if key:
            cap = Rect(
                left,
                y - measures.px(1),
                text_width(key, measures.text) + measures.px(12),
                measures.px(18),
            )
            fill(image, cap, TEXT, measures.px(4), opacity=0.16)
            write(image, key, (left + measures.px(6), y), measures.text, TEXT, bold=False)
            write(image, words, (left + key_room, y), measures.text, TEXT)
        else:
            write(image, words, (left, y + measures.px(5)), measures.text, QUIET)


def _card(image: Image, rect: Rect, title: str, measures: Measures) -> None:
    fill(image, rect, CARD, measures.radius)
    at = (rect.x + measures.pad, rect.y + measures.px(7))
    write(image, title, at, measures.text, QUIET, room=rect.width - 2 * measures.pad)
