"""The faces of a data set as the network sees them, cropped once and kept on disk as one array."""

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress

from calib.errors import RankotomError
from calib.input_files import read_input
from rankotom_edge import pictures
from rankotom_edge.faces.crop import Channels, Framing, crop, resize_framed
from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.faces.face import nearest_face
from rankotom_edge.frame import Image
from train.data.datasets import FaceSet

VERSION = 3  # raise it when the same pictures give other pixels


def load_crops(
    faces: FaceSet, size: int, channels: Channels, framing: Framing | None, cache: Path
) -> NDArray[np.uint8]:
    """Crops (n, channels, size, size), memory-mapped from ``cache``.

    Without a ``framing`` the pictures are face crops already (FERPlus, RAF-DB, AffectNet) and are
    only resized. With one (LFW) the face nearest the centre is detected and aligned to it.
    """
    stored = cache / f"{_cache_key(faces, size, channels, framing)}.npy"
    shape = (len(faces), channels, size, size)
    if not _is_complete(stored, shape):
        crops = (
            resize_pictures(faces, size, channels)
            if framing is None
            else _align_pictures(faces, size, channels, framing)
        )
        _write_array(stored, shape, show_progress(crops, len(faces), f"framing {faces.name}"))
    return np.lib.format.open_memmap(stored, mode="r")


def _cache_key(faces: FaceSet, size: int, channels: int, framing: Framing | None) -> str:
    """Depends on the bytes of the pictures: the same names and sizes may hold other faces."""
    described = {"version": VERSION, "framing": framing and framing.as_json()}
    digest = hashlib.sha256(json.dumps(described).encode())
    for file in faces.files:
        digest.update(hashlib.sha256(read_input(file)).digest())
    name = faces.name.replace("/", "-")
    return f"{name}-{len(faces)}-{size}x{size}x{channels}-{digest.hexdigest()[:16]}"


def _is_complete(stored: Path, shape: tuple[int, ...]) -> bool:
    """False also for a file that was cut off, for example by a full disk."""
    try:
        return np.lib.format.open_memmap(stored, mode="r").shape == shape
    except (OSError, ValueError):
        return False


def resize_pictures(faces: FaceSet, size: int, channels: Channels) -> Iterator[Image]:
    return (resize_framed(read_picture(file), size, channels) for file in faces.files)


def _align_pictures(
    faces: FaceSet, size: int, channels: Channels, framing: Framing
) -> Iterator[Image]:
    with FaceDetector() as detector:
        for file in faces.files:
            picture = read_picture(file)
            height, width = picture.shape[:2]
            face = nearest_face(detector.detect(picture), (width / 2, height / 2))
            if face is None:
                raise RankotomError(f"No face found in {file}. Remove the picture from the set.")
            yield crop(picture, face, framing, size, channels)


def read_picture(file: Path) -> Image:
    """Also for grey crops in colour, so that training and the camera share one conversion."""
    try:
        return pictures.read_picture(file)
    except RankotomError as error:
        raise RankotomError(f"In {file.parent}, {error}. Unpack the data set again.") from error


def _write_array(stored: Path, shape: tuple[int, ...], items: Iterable[Image]) -> None:
    """Write an .npy file in one pass; it gets its name only when it is complete.

    Streamed instead of memory-mapped: AffectNet does not fit in memory, and a full disk is an
    error that can be reported here, where writing to a mapped page would kill the process.
    """
    temporary = stored.with_name(f"{stored.name}.{os.getpid()}.tmp")
    header = {"descr": "|u1", "fortran_order": False, "shape": shape}
    try:
        stored.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("wb") as output:
                np.lib.format.write_array_header_1_0(output, header)
                for item in items:
                    output.write(item.tobytes())
            os.replace(temporary, stored)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise RankotomError(
            f"Could not write the face crops to {stored} ({error.strerror}). "
            f"They need {np.prod(shape, dtype=np.int64) / 1e6:,.1f} MB."
        ) from error


def show_progress(items: Iterable[Image], total: int, title: str) -> Iterator[Image]:
    """A progress bar on standard error, once the work has taken two seconds."""
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    task = progress.add_task(title, total=total)
    bar_from = time.monotonic() + 2
    try:
        for item in items:
            yield item
            progress.advance(task)
            if not progress.live.is_started and time.monotonic() > bar_from:
                progress.start()
    finally:
        if progress.live.is_started:
            progress.stop()
