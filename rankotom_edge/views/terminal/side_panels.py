"""What a key opens to the left of the faces: help, reliability diagram, crops, or the picture."""

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from rich.color import Color
from rich.console import Group, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from calib.reports.charts import DIAGONAL, ReliabilityDiagram
from rankotom_edge.frame import Image
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.drawing.canvas import crop_image
from rankotom_edge.views.palette import QUIET_HEX, Colour, headline_colour, text_colour_on
from rankotom_edge.views.terminal.half_blocks import HalfBlocks, Tag, fit_image
from rankotom_edge.views.wording import MARK_MEANING, calibration_words

SIDE_PANEL_WIDTH = 38
CROP_LINES = 12  # 24 pixels, half of the crop's 48: still recognisable as a face
CROP_WIDTH = 2 * CROP_LINES
CROP_TITLE = "as the network sees it"


@dataclass(frozen=True)
class SidePanel:
    body: RenderableType
    width: int = SIDE_PANEL_WIDTH


def side_panel(
    frame: Image | None,
    readings: Sequence[Reading],
    controls: Controls,
    reliability: Reliability,
    room: tuple[int, int],
    colours: bool,
) -> SidePanel | None:
    """At most one at a time, help first. ``room``: the columns that the picture may take, and the
    lines of every panel. None if no key asks for a panel, or the picture has no room.
    """
    columns, lines = room
    # Beside the faces it is as narrow as they need; where both have no room, it is alone.
    narrow = min(SIDE_PANEL_WIDTH, columns) or SIDE_PANEL_WIDTH
    if controls.help:
        return SidePanel(Group(Text(""), _help(controls)), narrow)
    if controls.reliability:
        return SidePanel(Group(Text(""), _diagram(reliability)), narrow)
    shows_frame = frame is not None and columns > 0
    if (controls.crop or shows_frame) and not colours:
        words = Text("\nThis terminal has no colours to show a picture in.", style=QUIET_HEX)
        return SidePanel(words, min(SIDE_PANEL_WIDTH, columns) if shows_frame else SIDE_PANEL_WIDTH)
    if controls.crop and readings:
        return SidePanel(Group(Text(""), _crops(readings, lines - 1)), CROP_WIDTH)
    if frame is not None and shows_frame:
        picture = _with_boxes(frame, fit_image(frame, columns, lines - 2), readings)
        return SidePanel(Group(Text(""), picture), picture.image.shape[1])
    return None


def _help(controls: Controls) -> RenderableType:
    """The key for the picture is only here; the activation map is not shown in a terminal."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for key, words in (controls.keys | {"p": "a small picture"}).items():
        if key != "c":
            table.add_row(Text(key, style="bold"), words)
    return Group(table, Text(""), Text(f"{DIAGONAL} {MARK_MEANING}", style=QUIET_HEX))


def _diagram(reliability: Reliability) -> RenderableType:
    evaluation = reliability.evaluation
    words = calibration_words(evaluation)
    bins = tuple(bin_ for bin_ in evaluation.reliability if bin_.count)
    if not bins or words is None:
        return Text("This model does not say.", style=QUIET_HEX)
    title = Text("how reliable the model is", style="bold")
    return Group(title, Text(words, style=QUIET_HEX), ReliabilityDiagram(bins, compact=True))


def _crops(readings: Sequence[Reading], lines: int) -> RenderableType:
    parts: list[RenderableType] = []
    for reading in readings[: max(1, lines // (CROP_LINES + 1))]:
        if reading.crop is not None:
            title = f"face {reading.track} as it is read" if len(readings) > 1 else CROP_TITLE
            parts += [Text(title, style="bold")]
            parts += [HalfBlocks(fit_image(crop_image(reading.crop), CROP_WIDTH, CROP_LINES))]
    return Group(*parts)


def _with_boxes(frame: Image, small: Image, readings: Sequence[Reading]) -> HalfBlocks:
    """Draws the boxes of the frame's faces into the small picture, a pixel wide, with the numbers
    of their rows."""
    drawn, tags = small.copy(), []
    zoom = np.tile(np.divide(small.shape[1::-1], frame.shape[1::-1]), 2)
    for reading in readings:
        x, y, width, height = (round(value) for value in zoom * reading.face.box)
        colour = headline_colour(reading)
        cv2.rectangle(drawn, (x, y), (x + width, y + height), colour)
        ink = text_colour_on(colour)
        style = Style(color=_rich(ink), bgcolor=_rich(colour), bold=True)
        row, column = max(0, y // 2), max(0, x)
        tags += [Tag(row, column, str(reading.track), style)] * (len(readings) > 1)
    return HalfBlocks(drawn, tags)


def _rich(colour: Colour) -> Color:
    blue, green, red = colour
    return Color.from_rgb(red, green, blue)
