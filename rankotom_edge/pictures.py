"""Decodes pictures after measuring them: a few bytes may claim gigabytes of pixels."""

import math
import os
import warnings
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import cv2
import numpy as np
import PIL.Image

from calib.errors import RankotomError
from calib.input_files import MEGABYTE, read_input
from rankotom_edge.frame import Image

# Chosen by eye. A larger picture is read after: export RANKOTOM_MAX_PIXELS=200000000
PIXELS, BYTES = "RANKOTOM_MAX_PIXELS", "RANKOTOM_MAX_BYTES"
MOST_PIXELS, MOST_BYTES = 64_000_000, 256 * MEGABYTE
MOST_VIDEO_PIXELS = 36_000_000  # of an image of a video; 8K has 33 million
# Beyond it OpenCV throws where nobody can catch it (in MediaPipe's threads).
LONGEST_SIDE = 32_766

FORMATS = ("BMP", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
PNG_START, PNG_END = b"\x89PNG", b"IEND\xaeB`\x82"
# Each scan of a progressive JPEG is a pass over all of its pixels; 10 are usual.
JPEG_START, SCAN, MOST_SCANS = b"\xff\xd8", b"\xff\xda", 100

# Of damaged headers, which are refused here; not of sizes, for programs that import this one.
warnings.filterwarnings("ignore", module=r"PIL\.\w+ImagePlugin")


def read_picture(path: Path) -> Image:
    """A BGR picture; RankotomError says why not."""
    content = read_input(path, _limit(BYTES, MOST_BYTES))
    try:
        return decode_picture(content)
    except RankotomError as error:
        raise RankotomError(f"{path.name} cannot be read: {error}") from error


def decode_picture(content: bytes) -> Image:
    check_size(*_measure(content), MOST_PIXELS)
    # libpng complains on the terminal about a truncated file, and that cannot be switched off.
    truncated = content.startswith(PNG_START) and PNG_END not in content
    if truncated or (content.startswith(JPEG_START) and content.count(SCAN) > MOST_SCANS):
        raise RankotomError("it is cut off or damaged")
    # From memory: imread returns half an image for half a JPEG, imdecode returns none.
    try:
        image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    except (cv2.error, MemoryError):
        image = None
    if image is None:
        raise RankotomError("it is cut off or damaged")
    return np.asarray(image, dtype=np.uint8)


def check_size(width: int, height: int, most: int) -> None:
    """``most`` pixels, or as many as the user allows; never a side that ends the process."""
    size = f"it has {width:,} x {height:,} pixels, and"
    if max(width, height) > LONGEST_SIDE:
        raise RankotomError(f"{size} a side at most {LONGEST_SIDE:,}")
    allowed = _limit(PIXELS, most)
    if width * height > allowed:
        raise RankotomError(
            f"{size} at most {allowed:,} are read. To read it: export {PIXELS}={width * height}"
        )


def shrink_to(picture: Image, longest: int) -> tuple[Image, float]:
    """The picture with no side longer than ``longest``, and by how much it shrank (1: not)."""
    share = min(1.0, longest / max(picture.shape[:2]))
    if share == 1:
        return picture, 1.0
    size = [max(1, round(side * share)) for side in picture.shape[1::-1]]
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8), share


def _measure(content: bytes) -> tuple[int, int]:
    """With Pillow's readers and not its ``open``, which has a limit of its own for the pixels."""
    PIL.Image.init()
    for kind in FORMATS:
        read_header, accepts = PIL.Image.OPEN[kind]
        with suppress(Exception):  # of a damaged header, Pillow raises anything
            if accepts is not None and accepts(content[:16]) is True:
                with read_header(BytesIO(content), "") as header:
                    return header.size
    raise RankotomError(f"it is damaged, or none of {', '.join(FORMATS)}")


def _limit(name: str, usual: int) -> int:
    given = os.environ.get(name)
    if given is None:
        return usual
    try:
        limit = float(given)
    except ValueError:
        limit = math.nan
    if not 1 <= limit <= 1e12:
        raise RankotomError(f"{name} is {given!r}, not a number from 1 on")
    return int(limit)
