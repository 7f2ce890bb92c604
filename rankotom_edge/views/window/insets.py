"""Draws what a key opens: the crops, the reliability diagram, and the help."""

from collections.abc import Mapping, Sequence

import cv2
import numpy as np

from calib.evaluation import Evaluation
from calib.metrics import LARGE_BIN, Bin
from rankotom_edge.frame import Image
from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.drawing.canvas import draw_outline, draw_pane, draw_text, fill_rect
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.drawing.sizes import Sizes
from rankotom_edge.views.drawing.text import text_width
from rankotom_edge.views.palette import FAINT, GROUND, QUIET, TEXT, bgr, reading_colour
from rankotom_edge.views.window.panels import draw_badge
from rankotom_edge.views.wording import MARK_MEANING, calibration_words

INSET_GROUND = bgr("#20252c")
RIGHT, OVER, UNDER = bgr("#6d7886"), bgr("#e69f00"), bgr("#56b4e9")
CROPS_IN_A_ROW = 2


def crops_height(readings: Sequence[Reading], sizes: Sizes) -> int:
    rows = max(1, -(-len(readings) // CROPS_IN_A_ROW))
    return sizes.px(26) + rows * (_crop_size(sizes) + sizes.gap) + sizes.px(4)


def draw_crops(
    image: Image, rect: Rect, readings: Sequence[Reading], numbered: bool, sizes: Sizes
) -> None:
    """Each face as the network saw it, enlarged without smoothing; ``numbered`` with its number."""
    _draw_empty_inset(image, rect, "as the network sees it", sizes)
    size, gap = _crop_size(sizes), sizes.gap
    for place, reading in enumerate(readings):
        row, column = divmod(place, CROPS_IN_A_ROW)
        x = round(rect.x + sizes.pad + column * (size + gap))
        y = round(rect.y + sizes.px(28) + row * (size + gap))
        if reading.crop is None or y + size > rect.bottom:
            continue
        shown = cv2.resize(_as_bgr(reading.crop), (size, size), interpolation=cv2.INTER_NEAREST)
        image[y : y + size, x : x + size] = shown
        colour = reading_colour(reading)
        draw_outline(image, Rect(x, y, size, size), sizes.px(2), colour, sizes.px(1), GROUND)
        if numbered:
            draw_badge(image, reading, (x, y), sizes)


def _crop_size(sizes: Sizes) -> int:
    return (sizes.panel_width - 2 * sizes.pad - sizes.gap) // CROPS_IN_A_ROW


def _as_bgr(crop: Image) -> Image:
    """From (channels, size, size), grey or RGB, to OpenCV's order."""
    planes = np.repeat(crop, 3, axis=0) if len(crop) == 1 else crop[::-1]
    return np.ascontiguousarray(planes.transpose(1, 2, 0))


def reliability_height(sizes: Sizes) -> int:
    return sizes.px(224)


def draw_reliability(image: Image, rect: Rect, evaluation: Evaluation, sizes: Sizes) -> None:
    """A bar per bin of confidence: how often it was right, compared with the diagonal."""
    _draw_empty_inset(image, rect, "% right, by confidence shown", sizes)
    plot = Rect(
        rect.x + sizes.pad + sizes.px(24),
        rect.y + sizes.px(30),
        rect.width - 2 * sizes.pad - sizes.px(34),
        sizes.px(120),
    )
    for share in (0.0, 0.5, 1.0):
        y = plot.bottom - share * plot.height
        fill_rect(image, Rect(plot.x, round(y), plot.width, 1), FAINT, opacity=0.6)
        at = (plot.x - sizes.px(5), y - sizes.gap)
        draw_text(image, f"{100 * share:.0f}", at, sizes.text, QUIET, right=True)
        x = plot.x + share * plot.width
        half = text_width(f"{100 * share:.0f}", sizes.text) / 2
        beneath = (x - half, plot.bottom + sizes.px(3))
        draw_text(image, f"{100 * share:.0f}", beneath, sizes.text, QUIET)
    for bin_ in evaluation.reliability:
        _draw_bin(image, plot, bin_)
    cv2.line(
        image,
        (round(plot.x), round(plot.bottom)),
        (round(plot.right), round(plot.y)),
        TEXT,
        sizes.px(1),
        cv2.LINE_AA,
    )
    _draw_legend(image, rect, evaluation, sizes)


def _draw_bin(image: Image, plot: Rect, bin_: Bin) -> None:
    if bin_.accuracy is None or bin_.confidence is None:
        return
    opacity = 1.0 if bin_.count >= LARGE_BIN else 0.3
    x, width = plot.x + bin_.low * plot.width, (bin_.high - bin_.low) * plot.width - 1
    accuracy, confidence = bin_.accuracy, bin_.confidence
    lower, upper = sorted((accuracy, confidence))
    height = plot.height
    fill_rect(
        image, Rect(x, plot.bottom - lower * height, width, lower * height), RIGHT, 0, opacity
    )
    gap = Rect(x, plot.bottom - upper * height, width, (upper - lower) * height)
    fill_rect(image, gap, OVER if accuracy < confidence else UNDER, 0, opacity)


def _draw_legend(image: Image, rect: Rect, evaluation: Evaluation, sizes: Sizes) -> None:
    x, y, row = rect.x + sizes.pad, rect.bottom - sizes.px(55), sizes.px(16)
    words = calibration_words(evaluation)
    if words is None:
        draw_text(image, "this model does not say", (x, y), sizes.text, QUIET)
        return
    draw_text(image, words, (x, y), sizes.text, TEXT, room=rect.width - 2 * sizes.pad)
    size = sizes.gap
    for line, (colour, name) in enumerate(((OVER, "too sure"), (UNDER, "not sure enough")), 1):
        fill_rect(image, Rect(x, y + line * row + sizes.px(4), size, size), colour, 1)
        draw_text(image, name, (x + size + sizes.px(6), y + line * row), sizes.text, QUIET)


def draw_help(image: Image, area: Rect, keys: Mapping[str, str], sizes: Sizes) -> None:
    """Every key, and the meaning of the mark on a bar, in the middle of the picture."""
    row, key_room = sizes.px(21), sizes.px(58)
    rows = [*keys.items(), ("", f"the mark on a bar: {MARK_MEANING}")]
    widest = max(text_width(words, sizes.text) for _, words in rows[:-1])
    width = max(key_room + widest, text_width(rows[-1][1], sizes.text)) + 3 * sizes.pad
    height = row * len(rows) + 3 * sizes.pad
    rect = Rect(
        area.x + (area.width - width) / 2, area.y + (area.height - height) / 2, width, height
    )
    draw_pane(image, rect, sizes.radius)
    fill_rect(image, rect, GROUND, sizes.radius, opacity=0.55)
    left, top = rect.x + 1.5 * sizes.pad, rect.y + 1.5 * sizes.pad
    for index, (key, words) in enumerate(rows):
        y = top + index * row
        if key:
            cap = Rect(
                left, y - sizes.px(1), text_width(key, sizes.text) + sizes.px(12), sizes.px(18)
            )
            fill_rect(image, cap, TEXT, sizes.px(4), opacity=0.16)
            draw_text(image, key, (left + sizes.px(6), y), sizes.text, TEXT, bold=False)
            draw_text(image, words, (left + key_room, y), sizes.text, TEXT)
        else:
            draw_text(image, words, (left, y + sizes.px(5)), sizes.text, QUIET)


def _draw_empty_inset(image: Image, rect: Rect, title: str, sizes: Sizes) -> None:
    fill_rect(image, rect, INSET_GROUND, sizes.radius)
    at = (rect.x + sizes.pad, rect.y + sizes.px(7))
    draw_text(image, title, at, sizes.text, QUIET, room=rect.width - 2 * sizes.pad)
