"""Anti-aliased text as masks, from the DejaVu fonts that come with Matplotlib."""

import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Mask: TypeAlias = NDArray[np.uint8]  # (height, width): 0 is background, 255 is letter
Font: TypeAlias = ImageFont.FreeTypeFont | ImageFont.ImageFont

ELLIPSIS = "…"


def text_mask(text: str, size: int, bold: bool = False) -> Mask:
    """As high as a line, so that all texts on a line share a baseline."""
    width = max(1, text_width(text, size, bold) + 1)
    drawn = Image.new("L", (width, line_height(size, bold)), 0)
    ImageDraw.Draw(drawn).text((0, 0), text, fill=255, font=_font(size, bold))
    return np.asarray(drawn, dtype=np.uint8)


@lru_cache(maxsize=512)
def text_width(text: str, size: int, bold: bool = False) -> int:
    return round(_font(size, bold).getlength(text))


@lru_cache(maxsize=64)
def line_height(size: int, bold: bool = False) -> int:
    """From the top of the tallest letter to the bottom of the lowest."""
    return round(_font(size, bold).getbbox("Ågj")[3])


@lru_cache(maxsize=512)
def shorten(text: str, room: int, size: int, bold: bool = False) -> str:
    """The text; if it is wider than ``room``, cut short and ended with an ellipsis."""
    if text_width(text, size, bold) <= room:
        return text
    for length in range(len(text) - 1, 0, -1):
        cut = text[:length].rstrip(" ,:·") + ELLIPSIS
        if text_width(cut, size, bold) <= room:
            return cut
    return ""


@lru_cache(maxsize=64)
def wrap(text: str, room: int, size: int, bold: bool = False) -> tuple[str, ...]:
    """In lines no wider than ``room``, broken at spaces; a single word may be wider."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size, bold) <= room:
            lines[-1] = longer
        else:
            lines.append(word)
    return tuple(lines)


@lru_cache(maxsize=64)
def _font(size: int, bold: bool) -> Font:
    path = _font_folder() / ("DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf")
    # Debian packages Matplotlib without its fonts; Pillow has one of its own.
    return ImageFont.truetype(str(path), size) if path.is_file() else ImageFont.load_default(size)


@lru_cache(maxsize=1)
def _font_folder() -> Path:
    """Found without importing Matplotlib, which would delay the first reading."""
    found = importlib.util.find_spec("matplotlib")
    origin = found.origin if found and found.origin else ""
    return Path(origin).parent / "mpl-data" / "fonts" / "ttf"
