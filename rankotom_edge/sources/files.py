"""Video and GIF files, and images in a folder, as reels."""

from __future__ import annotations

import glob
import math
import os
import re
from collections.abc import Generator, Sequence
from pathlib import Path

import cv2
import numpy as np

from calib.errors import RankotomError
from rankotom_edge.frame import Image
from rankotom_edge.sources.capture import open_video, own_fps, picture_of, released
from rankotom_edge.sources.grammar import IMAGE_SUFFIXES
from rankotom_edge.sources.playback import Picture

USUAL_FPS = 25.0  # FFmpeg's guess too, for a file that does not say
LONGEST_GAP = 10.0  # seconds between two pictures; a later stamp is a broken one
WHOLE = 0.95  # of what the header announces; Matroska's count is an estimate

# Between a video's frames, for which this is slow, and photographs, for which it is fast.
IMAGES_PER_SECOND = 10.0

PNG_START, PNG_END = b"\x89PNG", b"IEND\xaeB`\x82"


class VideoReel:
    still = False
    photographs = False

    def __init__(self, path: str, name: str) -> None:
        self.name = name
        self.fps: float | None = None
        self.remark: str | None = None
        self._path = path

    def pictures(self) -> Generator[Picture, None, None]:
        _check_readable(self._path)
        with released(open_video(self._path)) as capture:
            self.fps = own_fps(capture)
            announced = capture.get(cv2.CAP_PROP_FRAME_COUNT)
            interval = 1 / (self.fps or USUAL_FPS)
            read, shown, time, stamp = 0, 0, 0.0, 0.0
            while capture.grab():
                before, stamp = stamp, capture.get(cv2.CAP_PROP_POS_MSEC) / 1000
                if read:
                    time += step(before, stamp, interval)
                read += 1
                image = picture_of(capture)
                if image is not None:
                    yield Picture(image, time, read - 1)
                    shown += 1
        if shown == 0:
            raise RankotomError(
                f"{self._path} is not a video that OpenCV can read, or is cut off at its start. "
                "Try to play it elsewhere, or convert it: ffmpeg -i IN OUT.mp4"
            )
        if breaks_off(read, time + interval, announced, interval):
            self.remark = f"the file breaks off after {read} of about {announced:.0f} frames"


def step(before: float, stamp: float, interval: float) -> float:
    """Seconds from one frame to the next: by their stamps in the file, so that GIFs and phones keep
    their varying pace, but not where the stamps stand still, run back or leap."""
    apart = stamp - before
    return apart if math.isfinite(apart) and 0 < apart <= LONGEST_GAP else interval


def breaks_off(read: int, lasted: float, announced: float, interval: float) -> bool:
    """Whether a file ended before its header said, in frames and in time: alone, the count is
    wrong for a varying pace, and the length for a last picture that stands long."""
    return read < WHOLE * announced - 1 and lasted < WHOLE * announced * interval


class ImageReel:
    still = False
    photographs = True

    def __init__(self, named: str, name: str, per_second: float = IMAGES_PER_SECOND) -> None:
        self.name = name
        self.fps: float | None = None
        self.remark: str | None = None
        self._named = named
        self._per_second = per_second

    def pictures(self) -> Generator[Picture, None, None]:
        paths = images_of(self._named)
        read = 0
        for index, path in enumerate(paths):
            image = read_image(path)
            if image is not None:
                yield Picture(image, read / self._per_second, index)
                read += 1
            if read <= index:
                self.remark = f"{index + 1 - read} of {len(paths)} images cannot be read"
        if read == 0:
            raise RankotomError(
                f"None of the {len(paths)} images of {self._named} can be read; the first is "
                f"{paths[0].name}. They are damaged, or not what their names say."
            )


def images_of(named: str) -> Sequence[Path]:
    """The images of a folder or glob, or the one image, in the order a person would count them."""
    if os.path.isdir(named):
        found = [Path(named, name) for name in os.listdir(named)]
    elif os.path.exists(named):
        found = [Path(named)]
    else:
        found = [Path(path) for path in glob.glob(named, recursive=True)]
    images = [path for path in found if path.suffix.lower() in IMAGE_SUFFIXES and path.is_file()]
    if not images:
        others = f" among its {len(found):,} entries" if found else ""
        raise RankotomError(
            f"There are no images in {named}{others}. Give a folder or a glob of "
            f"{', '.join(IMAGE_SUFFIXES[:-1])} or {IMAGE_SUFFIXES[-1]} files."
        )
    return sorted(images, key=natural_order)


def natural_order(path: Path) -> tuple[list[tuple[bool, int, str]], str]:
    """frame 2 before frame 10."""
    parts = re.findall(r"([0-9]+)|([^0-9]+)", str(path).lower())
    return [(not digits, int(digits or 0), text) for digits, text in parts], str(path)


def read_image(path: Path) -> Image | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    # libpng writes to the terminal when a file is cut off, and cannot be told not to.
    cut_off = data.startswith(PNG_START) and PNG_END not in data[-64:]
    if not data or cut_off:
        return None
    # Decoded from memory, for imread gives half a picture of half a JPEG, and this gives none.
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:  # it claims to be larger than OpenCV allows
        return None
    return None if image is None else np.asarray(image, dtype=np.uint8)


def _check_readable(path: str) -> None:
    try:
        with open(path, "rb") as file:
            empty = not file.read(1)
    except OSError as error:
        raise RankotomError(f"Cannot read the video {path}: {error.strerror}.") from error
    if empty:
        raise RankotomError(f"{path} is empty: there is no video in it.")
