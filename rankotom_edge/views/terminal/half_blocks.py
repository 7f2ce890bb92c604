"""A small picture in a terminal: two pixels a cell, the upper half in one colour, the lower in
another."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from rich.color import Color
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.style import Style

from rankotom_edge.frame import Image

UPPER_HALF = "▀"
STEP = 8  # of 256: neighbours that look alike share a style, and the line is half as long


@dataclass(frozen=True, eq=False)
class HalfBlocks:
    image: Image  # BGR, of an even height, a pixel for each column and each half of a row

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        coarse = (self.image // STEP).tolist()
        for upper, lower in zip(coarse[::2], coarse[1::2], strict=True):
            run, style = 0, None
            for top, bottom in zip(upper, lower, strict=True):
                cell = _style(*top, *bottom)
                if style is not None and cell is not style:
                    yield Segment(UPPER_HALF * run, style)
                    run = 0
                run, style = run + 1, cell
            yield Segment(UPPER_HALF * run, style)
            yield Segment.line()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(self.image.shape[1], self.image.shape[1])


def fitted(image: Image, columns: int, rows: int) -> Image:
    """The whole picture, as large as fits into so many columns and rows of half blocks."""
    height, width = image.shape[:2]
    zoom = min(columns / width, 2 * rows / height)
    size = (max(1, round(width * zoom)), 2 * max(1, round(height * zoom / 2)))
    kind = cv2.INTER_AREA if zoom < 1 else cv2.INTER_NEAREST
    return np.asarray(cv2.resize(image, size, interpolation=kind), np.uint8)


@lru_cache(maxsize=8192)
def _style(top_blue: int, top_green: int, top_red: int, blue: int, green: int, red: int) -> Style:
    upper = Color.from_rgb(*(STEP * part + STEP // 2 for part in (top_red, top_green, top_blue)))
    lower = Color.from_rgb(*(STEP * part + STEP // 2 for part in (red, green, blue)))
    return Style(color=upper, bgcolor=lower)
