"""A session's video: JPEG images, one after the other, in a single file.

It survives a kill: every image that was written can be read. An mp4, mkv or avi file that is cut
off loses its last frames or all of them, and OpenCV's video writer does not report a full disk.
"""

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import cv2

from calib.errors import RankotomError
from calib.input_files import open_input
from rankotom_edge.frame import Image
from rankotom_edge.pictures import decode_picture

# Chosen by eye, high enough that a face cropped from the video reads as it did live.
JPEG_QUALITY = 95
END_OF_IMAGE = b"\xff\xd9"
MOST_BYTES = 2**40  # mapped, not read; a day of video may have hundreds of gigabytes


def encode_jpeg(image: Image) -> bytes:
    return cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1].tobytes()


def read_mjpeg(path: Path) -> Iterator[Image]:
    """Splits at the end markers, which cannot occur inside an image: JPEG writes a 0 after every
    0xff of its data. An image without an end was cut off, and is left out."""
    with open_input(path, MOST_BYTES) as file:
        if os.fstat(file.fileno()).st_size == 0:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as stream:
            start = 0
            while (found := stream.find(END_OF_IMAGE, start)) >= 0:
                end = found + len(END_OF_IMAGE)
                yield _decode(stream[start:end], path)
                start = end


def _decode(jpeg: bytes, path: Path) -> Image:
    try:
        return decode_picture(jpeg)
    except RankotomError as error:
        raise RankotomError(f"{path} is damaged: an image in it cannot be read: {error}") from error
