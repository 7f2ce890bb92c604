"""Plays an image, a folder of images or a glob, in natural order."""

import glob
import os
import re
from collections.abc import Generator, Sequence
from pathlib import Path

from calib.errors import RankotomError
from rankotom_edge.pictures import read_picture
from rankotom_edge.sources.playback_source import Clip, TimedImage
from rankotom_edge.sources.source_parser import IMAGE_SUFFIXES

# Chosen by eye, between the rates that suit the frames of a video and photographs.
IMAGES_PER_SECOND = 10.0


class ImageFiles(Clip):
    photographs = True

    def __init__(self, pattern: str, name: str, per_second: float = IMAGES_PER_SECOND) -> None:
        self.name = name
        self._pattern = pattern
        self._per_second = per_second

    def images(self) -> Generator[TimedImage, None, None]:
        paths = list_images(self._pattern)
        problems: list[str] = []
        for index, path in enumerate(paths):
            try:
                image = read_picture(path)
            except RankotomError as error:
                problems.append(str(error))
                rest = f" ({problems[0]})" if len(problems) == 1 else ""
                self.remark = f"{len(problems)} of {len(paths)} images cannot be read{rest}"
            else:
                yield TimedImage(image, (index - len(problems)) / self._per_second, index)
        if len(problems) == len(paths):
            none = f"None of the {len(paths)} images of {self._pattern} can be read. "
            raise RankotomError(f"{none if len(paths) > 1 else ''}{problems[0]}.")


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
