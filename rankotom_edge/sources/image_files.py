"""Plays an image, a folder of images or a glob, in natural order."""

import glob
import os
import re
from collections.abc import Generator, Sequence
from pathlib import Path

import cv2
import numpy as np

from calib.errors import RankotomError
from rankotom_edge.frame import Image
from rankotom_edge.sources.playback_source import Clip, TimedImage
from rankotom_edge.sources.source_parser import IMAGE_SUFFIXES

# Chosen by eye, between the rates that suit the frames of a video and photographs.
IMAGES_PER_SECOND = 10.0

PNG_START, PNG_END = b"\x89PNG", b"IEND\xaeB`\x82"


class ImageFiles(Clip):
    photographs = True

    def __init__(self, pattern: str, name: str, per_second: float = IMAGES_PER_SECOND) -> None:
        self.name = name
        self._pattern = pattern
        self._per_second = per_second

    def images(self) -> Generator[TimedImage, None, None]:
        paths = list_images(self._pattern)
        read = 0
        for index, path in enumerate(paths):
            image = read_image(path)
            if image is not None:
                yield TimedImage(image, read / self._per_second, index)
                read += 1
            if read <= index:
                self.remark = f"{index + 1 - read} of {len(paths)} images cannot be read"
        if read == 0:
            raise RankotomError(
                f"None of the {len(paths)} images of {self._pattern} can be read; the first is "
                f"{paths[0].name}. They are damaged, or not what their names say."
            )


def list_images(pattern: str) -> Sequence[Path]:
    """The images of a folder or a glob, or a single image."""
    if os.path.isdir(pattern):
        found = [Path(pattern, name) for name in os.listdir(pattern)]
    elif os.path.exists(pattern):
        found = [Path(pattern)]
    else:
        found = [Path(path) for path in glob.glob(pattern, recursive=True)]
    images = [path for path in found if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file()]
    if not images:
        others = f" among its {len(found):,} entries" if found else ""
        raise RankotomError(
            f"There are no images in {pattern}{others}. Give a folder or a glob of "
            f"{', '.join(IMAGE_SUFFIXES[:-1])} or {IMAGE_SUFFIXES[-1]} files."
        )
    return sorted(images, key=natural_order)


def natural_order(path: Path) -> tuple[list[tuple[bool, int, str]], str]:
    """A sort key that puts frame 2 before frame 10."""
    parts = re.findall(r"([0-9]+)|([^0-9]+)", str(path).lower())
    return [(not digits, int(digits or 0), text) for digits, text in parts], str(path)


def read_image(path: Path) -> Image | None:
    """None if the file cannot be read or decoded."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    # libpng complains on the terminal about a truncated file, and that cannot be switched off.
    truncated = data.startswith(PNG_START) and PNG_END not in data[-64:]
    if not data or truncated:
        return None
    # From memory: imread returns half an image for half a JPEG, imdecode returns none.
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:  # it claims to be larger than OpenCV allows
        return None
    return None if image is None else np.asarray(image, dtype=np.uint8)
