"""What a key opens, in the column: the crops, the reliability diagram, the help."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import cv2

from calib.evaluation import Evaluation
from calib.metrics import LARGE_BIN, Bin
from rankotom_edge.frame import Image
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.drawing.canvas import crop_image, draw_outline, draw_text, fill_rect
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.drawing.sizes import Sizes
from rankotom_edge.views.drawing.tag import draw_tag
from rankotom_edge.views.drawing.text import text_width, wrap
from rankotom_edge.views.palette import CARD, FAINT, GROUND, QUIET, TEXT, bgr, headline_colour
from rankotom_edge.views.window.cards import COMPACT, HEADLINE_HEIGHTS
from rankotom_edge.views.window.layout import WindowLayout
from rankotom_edge.views.wording import MARK_MEANING, calibration_words

RIGHT, OVER, UNDER = bgr("#6d7886"), bgr("#e69f00"), bgr("#56b4e9")
INSETS = ("help", "reliability", "crop")  # of the controls
CROP_TITLE = 28  # the height of the line above the crops, in units
CROP_COLUMNS = (2, 3, 4)
KEY_ROOM = 50  # of a key in the help, in units
WINDOW_KEYS = {"f": "full screen"}


class Inset(NamedTuple):
    name: str  # of INSETS
    rect: Rect


def split_column(layout: WindowLayout, controls: Controls, faces: int) -> tuple[Rect, Inset | None]:
    """The part of the column for the cards, and the place of what is open: beneath the cards, or
    in a wide column beside them. One at a time, the help first: two would leave no room for the
    cards."""
    area, sizes = layout.column, layout.sizes
    name = next((name for name in INSETS if getattr(controls, name)), None)
    if name is None:
        return area, None
    gap, beside = sizes.gap, area.width >= 2 * sizes.card_width + sizes.gap
    width = sizes.card_width if beside else area.width
    # Beneath the cards it leaves room for at least one of them.
    room = area.height if beside else area.height - sizes.px(HEADLINE_HEIGHTS[COMPACT]) - gap
    if name == "help":
        height: float = help_height(controls.keys, width, sizes)
    elif name == "reliability":
        height = sizes.px(224)
    else:
        _, rows, size = crop_grid(faces, width, area.height / 2, sizes)
        height = sizes.px(CROP_TITLE + 4) + rows * (size + gap)
    height = min(height, room)
    if beside:
        rest = area._replace(width=area.width - width - gap)
        return rest, Inset(name, Rect(area.right - width, area.y, width, height))
    rest = area._replace(height=area.height - height - gap)
    return rest, Inset(name, Rect(area.x, area.bottom - height, width, height))


def draw_inset(
    image: Image,
    inset: Inset,
    controls: Controls,
    readings: Sequence[Reading],
    reliability: Reliability,
    sizes: Sizes,
) -> None:
    fill_rect(image, inset.rect, CARD, sizes.radius)
    if inset.name == "help":
        draw_help(image, inset.rect, controls.keys, sizes)
    elif inset.name == "reliability":
        draw_reliability(image, inset.rect, reliability.evaluation, sizes)
    else:
        draw_crops(image, inset.rect, readings, sizes)


def crop_grid(faces: int, width: float, room: float, sizes: Sizes) -> tuple[int, int, int]:
    """Columns, rows, and the size of a crop: as large as all fit, but not hidden by its number."""
    columns = rows = size = 1
    for columns in CROP_COLUMNS:
        size = int(width - 2 * sizes.pad - sizes.gap * (columns - 1)) // columns
        rows = max(1, int((room - sizes.px(CROP_TITLE + 4)) // (size + sizes.gap)))
        if columns * rows >= faces:
            break
    return columns, min(rows, max(1, -(-faces // columns))), size


def draw_crops(image: Image, rect: Rect, readings: Sequence[Reading], sizes: Sizes) -> None:
    """Each face as the network saw it, enlarged without smoothing; several with their numbers."""
    columns, rows, size = crop_grid(len(readings), rect.width, rect.height, sizes)
    more = len(readings) - columns * rows
    _draw_title(image, rect, f"as the network sees it{f'  +{more}' if more > 0 else ''}", sizes)
    for place, reading in enumerate(readings[: columns * rows]):
        row, column = divmod(place, columns)
        x = round(rect.x + sizes.pad + column * (size + sizes.gap))
        y = round(rect.y + sizes.px(CROP_TITLE) + row * (size + sizes.gap))
        if reading.crop is None:
            continue
        shown = cv2.resize(crop_image(reading.crop), (size, size), interpolation=cv2.INTER_NEAREST)
        image[y : y + size, x : x + size] = shown
        colour = headline_colour(reading)
        draw_outline(image, Rect(x, y, size, size), colour, sizes.px(1), GROUND)
        if len(readings) > 1:
            draw_tag(image, (x, y), str(reading.track), reading, sizes)


def draw_reliability(image: Image, rect: Rect, evaluation: Evaluation, sizes: Sizes) -> None:
    """A bar per bin of confidence: how often it was right, compared with the diagonal."""
    _draw_title(image, rect, "% right, by confidence shown", sizes)
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


def help_height(keys: Mapping[str, str], width: float, sizes: Sizes) -> int:
    lines = sum(len(words) for _, words in _help_rows(keys, width, sizes))
    return 2 * sizes.pad + sizes.px(17) * lines + sizes.px(6)


def draw_help(image: Image, rect: Rect, keys: Mapping[str, str], sizes: Sizes) -> None:
    """Every key, and the meaning of the mark on a bar."""
    left, y = rect.x + sizes.pad, rect.y + sizes.pad
    for key, words in _help_rows(keys, rect.width, sizes):
        if y + sizes.px(17) * len(words) > rect.bottom:
            return
        y += 0 if key else sizes.px(6)
        if key:
            width = text_width(key, sizes.text) + sizes.px(10)
            cap = Rect(left, y - sizes.px(1), width, sizes.px(16))
            fill_rect(image, cap, TEXT, sizes.px(4), opacity=0.16)
            draw_text(image, key, (left + sizes.px(5), y), sizes.text, TEXT)
        for line in words:
            x = left + (sizes.px(KEY_ROOM) if key else 0)
            draw_text(image, line, (x, y), sizes.text, TEXT if key else QUIET)
            y += sizes.px(17)


def _help_rows(
    keys: Mapping[str, str], width: float, sizes: Sizes
) -> list[tuple[str, tuple[str, ...]]]:
    room = int(width - 2 * sizes.pad)
    beside = room - sizes.px(KEY_ROOM)
    every = {**keys, **WINDOW_KEYS}
    rows = [(key, wrap(words, beside, sizes.text)) for key, words in every.items()]
    return [*rows, ("", wrap(f"the mark on a bar: {MARK_MEANING}", room, sizes.text))]


def _draw_title(image: Image, rect: Rect, title: str, sizes: Sizes) -> None:
    at = (rect.x + sizes.pad, rect.y + sizes.px(7))
    draw_text(image, title, at, sizes.text, QUIET, room=rect.width - 2 * sizes.pad)
