"""What stands beside the faces in the terminal, on a key: help, diagram, crops, picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from calib.reports.charts import DIAGONAL, ReliabilityDiagram
from rankotom_edge.views.palette import QUIET_HEX, bgr, emotion_hex
from rankotom_edge.views.terminal.half_blocks import HalfBlocks, fitted
from rankotom_edge.views.wording import MARKER

if TYPE_CHECKING:
    from rankotom_edge.frame import Image
    from rankotom_edge.model.reliability import Reliability
    from rankotom_edge.readings.reading import Reading
    from rankotom_edge.views.controls import Controls

ASIDE_WIDTH = 38
CROP_LINES = 12  # 24 pixels: half of what the network sees, and still a face


@dataclass(frozen=True)
class Aside:
    body: RenderableType
    width: int = ASIDE_WIDTH


def aside(
    frame: Image | None,
    readings: Sequence[Reading],
    controls: Controls,
    reliability: Reliability,
    room: tuple[int, int],
    colours: bool,
) -> Aside | None:
    """One at a time, the one that was asked for most plainly; None: nothing was, or no more than
    a picture, and it has no ``room``: columns, for a picture alone, and lines."""
    columns, lines = room
    if controls.help:
        return Aside(Group(Text(""), _help(controls)))
    if controls.reliability:
        return Aside(Group(Text(""), _diagram(reliability)))
    shows_frame = frame is not None and columns > 0
    if (controls.crop or shows_frame) and not colours:
        words = Text("\nThis terminal has no colours to show a picture in.", style=QUIET_HEX)
        return Aside(words, min(ASIDE_WIDTH, columns) if shows_frame else ASIDE_WIDTH)
    if controls.crop and readings:
        return Aside(Group(Text(""), _crops(readings, lines - 1)))
    if frame is not None and shows_frame:
        small = _with_boxes(frame, fitted(frame, columns, lines - 2), readings)
        return Aside(Group(Text(""), HalfBlocks(small)), small.shape[1])
    return None


def _help(controls: Controls) -> RenderableType:
    """The picture has no place in the other views; the activation map has none in this one."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for key, words in (controls.keys | {"p": "a small picture"}).items():
        if key != "c":
            table.add_row(Text(key, style="bold"), words)
    return Group(table, Text(""), Text(f"{DIAGONAL} {MARKER}", style=QUIET_HEX))


def _diagram(reliability: Reliability) -> RenderableType:
    evaluation = reliability.evaluation
    ece = evaluation.metrics["ece"].value
    bins = tuple(bin_ for bin_ in evaluation.reliability if bin_.count)
    if not bins or ece is None:
        return Text("This model does not say.", style=QUIET_HEX)
    words = f"ECE {100 * ece:.1f} %, {evaluation.faces}"
    title = Text("how reliable the model is", style="bold")
    return Group(title, Text(words, style=QUIET_HEX), ReliabilityDiagram(bins, compact=True))


def _crops(readings: Sequence[Reading], lines: int) -> RenderableType:
    parts: list[RenderableType] = [Text("as the network sees it", style="bold")]
    for reading in readings[: max(1, lines // (CROP_LINES + 1))]:
        if reading.crop is not None:
            grey_or_rgb = np.broadcast_to(reading.crop, (3, *reading.crop.shape[1:]))
            image = np.ascontiguousarray(grey_or_rgb[::-1].transpose(1, 2, 0))
            parts += [HalfBlocks(fitted(image, ASIDE_WIDTH, CROP_LINES))]
    return Group(*parts)


def _with_boxes(frame: Image, small: Image, readings: Sequence[Reading]) -> Image:
    """Boxes a pixel wide in the small picture, where the faces of the frame are."""
    drawn = small.copy()
    zoom = np.tile(np.divide(small.shape[1::-1], frame.shape[1::-1]), 2)
    for reading in readings:
        x, y, width, height = (round(value) for value in zoom * reading.face.box)
        colour = bgr(emotion_hex(reading.labels, int(reading.probabilities.argmax())))
        cv2.rectangle(drawn, (x, y), (x + width, y + height), colour)
    return drawn
