"""An image in a terminal: each character cell shows two pixels, one above the other."""

from collections.abc import Sequence
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
STEP = 8  # colours are rounded to it: runs of equal cells halve the output


@dataclass(frozen=True)
class Tag:
    """Words on a colour, in place of some cells."""

    row: int
    column: int
    words: str
    style: Style


@dataclass(frozen=True, eq=False)
class HalfBlocks:
    image: Image  # BGR; as wide as its columns and twice as high as its rows
    tags: Sequence[Tag] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        coarse = (self.image // STEP).tolist()
        tagged = {
            (tag.row, tag.column + place): Segment(letter, tag.style)
            for tag in self.tags
            for place, letter in enumerate(tag.words)
        }
        for row, (upper, lower) in enumerate(zip(coarse[::2], coarse[1::2], strict=True)):
            run, style = 0, None
            for column, (top, bottom) in enumerate(zip(upper, lower, strict=True)):
                letter = tagged.get((row, column))
                if letter is not None:
                    yield from (Segment(UPPER_HALF * run, style), letter)
                    run, style = 0, None
                    continue
                cell = _style(*top, *bottom)
                if style is not None and cell is not style:
                    yield Segment(UPPER_HALF * run, style)
                    run = 0
                run, style = run + 1, cell
            yield Segment(UPPER_HALF * run, style)
            yield Segment.line()

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(self.image.shape[1], self.image.shape[1])


def fit_image(image: Image, columns: int, rows: int) -> Image:
    """The whole image, as large as fits into this many character cells."""
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
