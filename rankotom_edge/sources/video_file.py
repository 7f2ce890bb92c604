"""Plays a video or GIF file."""

import math
import sys
from collections.abc import Generator
from pathlib import Path

import cv2

from calib.errors import RankotomError
from calib.input_files import open_input
from rankotom_edge.sources.opencv_capture import open_video, releasing, reported_fps, retrieve_image
from rankotom_edge.sources.playback_source import Clip, TimedImage
from rankotom_edge.sources.sampling import Sampling

DEFAULT_FPS = 25.0  # FFmpeg's default too, for a file that gives no rate
LONGEST_GAP = 10.0  # seconds between two frames; a longer one is a broken time stamp. By eye
COMPLETE = 0.95  # share of the announced frames; Matroska only estimates their number. By eye


class VideoFile(Clip):
    """``wanted``: frames a second; the others are skipped before they cost much."""

    def __init__(self, path: str, name: str, wanted: float | None = None) -> None:
        self.name = name
        self._path, self._wanted = path, wanted

    def images(self) -> Generator[TimedImage, None, None]:
        _check_readable(self._path)
        with releasing(open_video(self._path)) as capture:
            self.fps = reported_fps(capture)
            announced = capture.get(cv2.CAP_PROP_FRAME_COUNT)
            interval = 1 / (self.fps or DEFAULT_FPS)
            read, decoded, time, stamp = 0, 0, 0.0, 0.0
            sampling = Sampling(self._wanted)
            while capture.grab():
                previous, stamp = stamp, capture.get(cv2.CAP_PROP_POS_MSEC) / 1000
                if read:
                    time += seconds_between(previous, stamp, interval)
                read += 1
                self.done = min(1.0, read / announced) if announced > 0 else None
                if not sampling.takes(time):
                    continue
                image = retrieve_image(capture)
                if image is not None:
                    yield TimedImage(image, time, read - 1)
                    decoded += 1
        if decoded == 0:
            raise RankotomError(
                f"{self._path} is not a video that OpenCV can read, or is cut off at its start. "
                "Try to play it elsewhere, or convert it: ffmpeg -i IN OUT.mp4"
            )
        if is_cut_off(read, time + interval, announced, interval):
            self.remark = f"the file breaks off after {read} of about {announced:.0f} frames"


def seconds_between(previous: float, stamp: float, interval: float) -> float:
    """Seconds from one frame to the next by their time stamps, since GIFs and phone videos have a
    varying rate; ``interval`` if the stamps stand still, run back or jump."""
    difference = stamp - previous
    return difference if math.isfinite(difference) and 0 < difference <= LONGEST_GAP else interval


def is_cut_off(read: int, lasted: float, announced: float, interval: float) -> bool:
    """Whether a file ended before its header says, both in frames and in time. The count alone is
    wrong at a varying rate, the length alone when the last frame is shown long."""
    return read < COMPLETE * announced - 1 and lasted < COMPLETE * announced * interval


def _check_readable(path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:  # OpenCV would crash
        name = ascii(Path(path).name)
        raise RankotomError(f"The file name {name} is not UTF-8. Rename the file.") from None
    with open_input(Path(path), most=sys.maxsize) as file:
        empty = not file.read(1)
    if empty:
        raise RankotomError(f"{path} is empty: there is no video in it.")
