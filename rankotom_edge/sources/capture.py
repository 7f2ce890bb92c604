"""OpenCV's readers: opened quietly, with time limits, and always closed again."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from rankotom_edge.frame import Image

# A camera on Wi-Fi may stall for a second or two, and FFmpeg cannot go on after a read that was
# broken off: it must connect again. So this is patient, and close() does not wait for it.
OPEN_SECONDS = 6
READ_SECONDS = 3
# Nothing can be read before a stream's next whole picture, which ffmpeg sends once in 250: every
# ten seconds at 25 a second.
WHOLE_PICTURE_SECONDS = 15
WITH_PARTIAL_PICTURES = ("udp", "rtsp", "rtsps")

FASTEST = 240.0  # webm files and RTSP cameras that do not know their rate say 1000 or 90000

# With one thread FFmpeg holds no frame back (with n threads, n - 1 of them), and spends 16 % less
# on a 640x480 H.264 clip; it runs beside the loop anyway.
ONE_THREAD = [cv2.CAP_PROP_N_THREADS, 1]


def quieten() -> None:
    """Keep OpenCV and FFmpeg from writing over the terminal; the user's own settings stand.

    To be called before the first capture: OpenCV reads them once.
    """
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    os.environ.setdefault("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", str(READ_SECONDS))
    if "OPENCV_LOG_LEVEL" not in os.environ:
        if hasattr(cv2.utils, "logging"):
            cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
        else:
            older: Any = cv2  # 4.8, as JetPack 6 has it
            older.setLogLevel(0)


def open_video(path: str) -> cv2.VideoCapture:
    """``path`` is absolute, so that FFmpeg takes no part of the name for a protocol."""
    if not cv2.videoio_registry.hasBackend(cv2.CAP_FFMPEG):
        return cv2.VideoCapture(path)
    # By name: what FFmpeg cannot read must not go on to the backend that takes a01.avi for the
    # first of a sequence of pictures.
    return cv2.VideoCapture(path, cv2.CAP_FFMPEG, ONE_THREAD)


def open_camera(index: int) -> cv2.VideoCapture:
    # The driver's queue is left as it is: the reading thread keeps it empty, and with a queue of
    # one (CAP_PROP_BUFFERSIZE) it has nothing to fill while we convert: 15 fps instead of 30
    # (LibreScanner/horus#60).
    if sys.platform == "linux":
        return cv2.VideoCapture(index, cv2.CAP_V4L2)
    return cv2.VideoCapture(index)


def open_stream(url: str, seconds: float) -> cv2.VideoCapture:
    return cv2.VideoCapture(url, cv2.CAP_FFMPEG, time_limits(seconds) + ONE_THREAD)


def open_pipeline(pipeline: str) -> cv2.VideoCapture:
    return cv2.VideoCapture(pipeline, cv2.CAP_GSTREAMER, time_limits(OPEN_SECONDS))


def time_limits(to_open: float) -> list[int]:
    return [
        cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, round(to_open * 1000),
        cv2.CAP_PROP_READ_TIMEOUT_MSEC, READ_SECONDS * 1000,
    ]  # fmt: skip


def seconds_to_open(url: str) -> float:
    """A server that is not there refuses the connection, and that is told at once all the same."""
    scheme = url.partition("://")[0].lower()
    return WHOLE_PICTURE_SECONDS if scheme in WITH_PARTIAL_PICTURES else OPEN_SECONDS


def has_gstreamer() -> bool:
    return bool(cv2.videoio_registry.hasBackend(cv2.CAP_GSTREAMER))


@contextmanager
def released(capture: cv2.VideoCapture) -> Iterator[cv2.VideoCapture]:
    try:
        yield capture
    finally:
        capture.release()


def own_fps(capture: cv2.VideoCapture) -> float | None:
    return believable_fps(capture.get(cv2.CAP_PROP_FPS))


def believable_fps(reported: float) -> float | None:
    return reported if math.isfinite(reported) and 0 < reported <= FASTEST else None


def picture_of(capture: cv2.VideoCapture) -> Image | None:
    """The picture that was grabbed; None where it is damaged."""
    try:
        whole, picture = capture.retrieve()
        return in_colour(in_bytes(np.asarray(picture))) if whole else None
    except cv2.error:
        return None


def in_bytes(picture: NDArray[Any]) -> Image:
    """Infra-red and depth cameras give 16 bits, of which the upper ones count."""
    if picture.dtype == np.uint16:
        return (picture >> 8).astype(np.uint8)
    return picture.astype(np.uint8, copy=False)


def in_colour(picture: Image) -> Image:
    """BGR, also of what comes grey (infra-red cameras) or with an alpha channel."""
    channels = 1 if picture.ndim == 2 else picture.shape[2]
    if channels == 3:
        return picture
    conversion = cv2.COLOR_GRAY2BGR if channels == 1 else cv2.COLOR_BGRA2BGR
    return np.asarray(cv2.cvtColor(picture, conversion), dtype=np.uint8)
