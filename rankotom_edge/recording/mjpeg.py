"""A session's video: JPEG images, one after the other, in a single file.

It survives a kill: every image that was written can be read. An mp4, mkv or avi file that is cut
off loses its last frames or all of them, and OpenCV's video writer does not report a full disk.
"""

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np

from calib.errors import RankotomError
from rankotom_edge.frame import Image

# Chosen by eye, high enough that a face cropped from the video reads as it did live.
JPEG_QUALITY = 95
END_OF_IMAGE = b"\xff\xd9"


def encode_jpeg(image: Image) -> bytes:
    return cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1].tobytes()


def read_mjpeg(path: Path) -> Iterator[Image]:
    """Splits at the end markers, which cannot occur inside an image: JPEG writes a 0 after every
    0xff of its data. An image without an end was cut off, and is left out."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise RankotomError(f"Cannot read {path}: {error.strerror}.") from error
    with file:
        if os.fstat(file.fileno()).st_size == 0:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as stream:
            start = 0
            while (found := stream.find(END_OF_IMAGE, start)) >= 0:
                end = found + len(END_OF_IMAGE)
                yield _decode(stream[start:end], path)
                start = end


def _decode(jpeg: bytes, path: Path) -> Image:
    image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        raise RankotomError(f"{path} is damaged: an image in it cannot be decoded.")
    return np.asarray(image, dtype=np.uint8)
