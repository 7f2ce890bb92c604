"""OpenCV's video captures: opened quietly and with timeouts, read as 8-bit BGR images."""

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
from rankotom_edge.pictures import MOST_VIDEO_PIXELS, check_size

# Timeouts in seconds, chosen by eye. A camera on Wi-Fi may stall for a second or two, and after a
# read that timed out FFmpeg has to connect again, so these are long. close() does not wait.
OPEN_SECONDS = 6
READ_SECONDS = 3
# Decoding starts at a key frame. ffmpeg sends one in 250 frames: every ten seconds at 25 fps.
KEY_FRAME_SECONDS = 15
SCHEMES_WITH_KEY_FRAMES = ("udp", "rtsp", "rtsps")

FASTEST = 240.0  # webm files and RTSP cameras of unknown rate report 1000 or 90000 fps

FRAME_SIZE = (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT)
# With n threads FFmpeg delays the video by n - 1 frames; with one thread it delays none and costs
# less CPU in total. Decoding runs in a thread of its own anyway.
ONE_THREAD = [cv2.CAP_PROP_N_THREADS, 1]


def silence_opencv() -> None:
    """Stop OpenCV and FFmpeg from writing to the terminal, unless the user configured them.

    Call it before the first capture: OpenCV reads these settings once.
    """
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    os.environ.setdefault("OPENCV_VIDEOIO_V4L_SELECT_TIMEOUT", str(READ_SECONDS))
    if "OPENCV_LOG_LEVEL" not in os.environ:
        if hasattr(cv2.utils, "logging"):
            cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
        else:
            older: Any = cv2  # 4.8, which JetPack 6 has
            older.setLogLevel(0)


def open_video(path: str) -> cv2.VideoCapture:
    """``path`` must be absolute, so that FFmpeg takes no part of it for a protocol."""
    if not cv2.videoio_registry.hasBackend(cv2.CAP_FFMPEG):
        return cv2.VideoCapture(path)
    # FFmpeg by name: otherwise OpenCV passes on what FFmpeg cannot read to the backend that takes
    # a01.avi for the first of a sequence of images.
    return cv2.VideoCapture(path, cv2.CAP_FFMPEG, ONE_THREAD)


def open_camera(index: int) -> cv2.VideoCapture:
    # Leave the driver's queue as it is. The reading thread keeps it empty, and with a queue of one
    # (CAP_PROP_BUFFERSIZE) the driver has no free buffer while we convert an image: 15 fps instead
    # of 30 (LibreScanner/horus#60).
    if sys.platform == "linux":
        return cv2.VideoCapture(index, cv2.CAP_V4L2)
    return cv2.VideoCapture(index)


def open_stream(url: str, timeout: float) -> cv2.VideoCapture:
    return cv2.VideoCapture(url, cv2.CAP_FFMPEG, timeout_settings(timeout) + ONE_THREAD)


def open_pipeline(pipeline: str) -> cv2.VideoCapture:
    return cv2.VideoCapture(pipeline, cv2.CAP_GSTREAMER, timeout_settings(OPEN_SECONDS))


def timeout_settings(open_seconds: float) -> list[int]:
    return [
        cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, round(open_seconds * 1000),
        cv2.CAP_PROP_READ_TIMEOUT_MSEC, READ_SECONDS * 1000,
    ]  # fmt: skip


def open_timeout(url: str) -> float:
    """Seconds. An absent server refuses the connection at once, whatever the timeout."""
    scheme = url.partition("://")[0].lower()
    return KEY_FRAME_SECONDS if scheme in SCHEMES_WITH_KEY_FRAMES else OPEN_SECONDS


def has_gstreamer() -> bool:
    return bool(cv2.videoio_registry.hasBackend(cv2.CAP_GSTREAMER))


@contextmanager
def releasing(capture: cv2.VideoCapture) -> Iterator[cv2.VideoCapture]:
    try:
        yield capture
    finally:
        capture.release()


def reported_fps(capture: cv2.VideoCapture) -> float | None:
    return plausible_fps(capture.get(cv2.CAP_PROP_FPS))


def plausible_fps(reported: float) -> float | None:
    return reported if math.isfinite(reported) and 0 < reported <= FASTEST else None


def retrieve_image(capture: cv2.VideoCapture) -> Image | None:
    """The image that was grabbed; None if it is damaged, RankotomError if it is too large."""
    width, height = (int(capture.get(each)) for each in FRAME_SIZE)
    check_size(width, height, MOST_VIDEO_PIXELS)
    try:
        complete, image = capture.retrieve()
        return to_bgr(to_8_bit(np.asarray(image))) if complete else None
    except cv2.error:
        return None


def to_8_bit(image: NDArray[Any]) -> Image:
    """Infra-red and depth cameras give 16 bits; keep the upper eight."""
    if image.dtype == np.uint16:
        return (image >> 8).astype(np.uint8)
    return image.astype(np.uint8, copy=False)


def to_bgr(image: Image) -> Image:
    """From grey (infra-red cameras), BGR or BGRA."""
    channels = 1 if image.ndim == 2 else image.shape[2]
    if channels == 3:
        return image
    conversion = cv2.COLOR_GRAY2BGR if channels == 1 else cv2.COLOR_BGRA2BGR
    return np.asarray(cv2.cvtColor(image, conversion), dtype=np.uint8)
