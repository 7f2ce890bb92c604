"""The crop contract applied to a data set: once, and kept on disk as one array of bytes.

``python -m train.data.framing DIR`` measures the contract itself over FERPlus train.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress

from calib.errors import RankotomError
from rankotom_edge.faces.crop import Channels, FloatArray, Framing, crop, resized
from rankotom_edge.faces.detector import FaceDetector, nearest
from rankotom_edge.frame import Image
from train.data.datasets import FaceSet, data_folder, load_dataset

VERSION = 3  # raise it when the same pictures would give other pixels


def framed(
    faces: FaceSet, size: int, channels: Channels, framing: Framing | None, cache: Path
) -> NDArray[np.uint8]:
    """Every face as the network sees it: (n, channels, size, size), read from ``cache``.

    Without a ``framing`` the pictures are framed already (FERPlus, RAF-DB, AffectNet) and are only
    resized; with one (LFW) the face nearest the centre is found and aligned to it.
    """
    stored = cache / f"{_key(faces, size, channels, framing)}.npy"
    shape = (len(faces), channels, size, size)
    if not _is_whole(stored, shape):
        crops = (
            _resized_pictures(faces, size, channels)
            if framing is None
            else _aligned_pictures(faces, size, channels, framing)
        )
        _write_array(stored, shape, _with_progress(crops, len(faces), f"framing {faces.name}"))
    return np.lib.format.open_memmap(stored, mode="r")


def _key(faces: FaceSet, size: int, channels: int, framing: Framing | None) -> str:
    """By what the pictures hold: others of the same names and sizes are other faces."""
    described = {
        "version": VERSION,
        "framing": None if framing is None else framing.as_json(),
    }
    digest = hashlib.sha256(json.dumps(described).encode())
    for file in faces.files:
        digest.update(hashlib.sha256(read_file(file)).digest())
    name = faces.name.replace("/", "-")
    return f"{name}-{len(faces)}-{size}x{size}x{channels}-{digest.hexdigest()[:16]}"


def _is_whole(stored: Path, shape: tuple[int, ...]) -> bool:
    """Whether it is there and not cut off, as by a disk that was full."""
    try:
        return np.lib.format.open_memmap(stored, mode="r").shape == shape
    except (OSError, ValueError):
        return False


def read_file(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise RankotomError(f"{file} cannot be read: {error.strerror}.") from error


def _resized_pictures(faces: FaceSet, size: int, channels: Channels) -> Iterator[Image]:
    return (resized(read_picture(file), size, channels) for file in faces.files)


def _aligned_pictures(
    faces: FaceSet, size: int, channels: Channels, framing: Framing
) -> Iterator[Image]:
    with FaceDetector() as detector:
        for file in faces.files:
            picture = read_picture(file)
            height, width = picture.shape[:2]
            face = nearest(detector.detect(picture), (width / 2, height / 2))
            if face is None:
                raise RankotomError(f"No face found in {file}. Remove the picture from the set.")
            yield crop(picture, face, framing, size, channels)


def read_picture(file: Path) -> Image:
    # Read as colour even for grey crops, so that training and the camera share one conversion.
    picture = cv2.imread(str(file), cv2.IMREAD_COLOR)
    if picture is None:
        raise RankotomError(f"{file} is not a readable picture. Unpack the data set again.")
    return np.asarray(picture, dtype=np.uint8)


def _write_array(stored: Path, shape: tuple[int, ...], items: Iterable[Image]) -> None:
    """An .npy file in one pass, under its name only when whole.

    Streamed rather than memory-mapped: AffectNet does not fit in memory, and a full disk is then
    an error to report, where a mapped page would kill the process.
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
            f"Could not keep the framed faces in {stored} ({error.strerror}). "
            f"They need {np.prod(shape, dtype=np.int64) / 1e6:,.1f} MB."
        ) from error


def _with_progress(items: Iterable[Image], total: int, title: str) -> Iterator[Image]:
    """A progress bar on standard error, once two seconds have gone by."""
    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    task = progress.add_task(title, total=total)
    patience_ends = time.monotonic() + 2
    try:
        for item in items:
            yield item
            progress.advance(task)
            if not progress.live.is_started and time.monotonic() > patience_ends:
                progress.start()
    finally:
        if progress.live.is_started:
            progress.stop()


@dataclass(frozen=True, eq=False)
class FramingMeasurement:
    """Where MediaPipe sees the eyes and the mouth in pictures that are framed already."""

    points: FloatArray  # (found, 3, 2): left eye, right eye, mouth, as fractions of the crop
    tried: int

    @property
    def framing(self) -> Framing:
        """The median face: a few detections are far off, and must not pull."""
        left_eye, right_eye, mouth = np.median(self.points, axis=0).round(3).tolist()
        return Framing(tuple(left_eye), tuple(right_eye), tuple(mouth))

    @property
    def spread(self) -> FloatArray:
        """(3, 2): the interquartile range as a standard deviation (of a normal distribution)."""
        low, high = np.percentile(self.points, [25, 75], axis=0)
        return np.asarray((high - low) / 1.349, dtype=np.float64)


def measure_framing(crops: Iterable[Image]) -> FramingMeasurement:
    """``crops``: (1, size, size) each.

    The detector expects a head with room around it. Of the ways tried over FERPlus train (every
    60th face), four times larger inside a flat grey border of half its width found 99.8 %; a
    replicated or reflected border at most 98 %; none 94 %.
    """
    side, border = 192, 96
    points, tried = [], 0
    with FaceDetector() as detector:
        for grey in crops:
            tried += 1
            large = cv2.resize(grey[0], (side, side), interpolation=cv2.INTER_CUBIC)
            roomy = np.full((side + 2 * border, side + 2 * border, 3), 128, dtype=np.uint8)
            roomy[border:-border, border:-border] = large[..., np.newaxis]
            centre = (border + side / 2, border + side / 2)
            face = nearest(detector.detect(roomy), centre)
            if face is not None:
                points.append([face.left_eye, face.right_eye, face.mouth])
    if not points:
        raise RankotomError(f"No face found in any of {tried:,} crops, so they have no framing.")
    return FramingMeasurement((np.array(points) - border) / side, tried)


def main(folder: Path | None) -> None:
    faces = load_dataset("ferplus", data_folder(folder), "train")
    crops = _with_progress(_resized_pictures(faces, 48, 1), len(faces), "measuring FERPlus train")
    measured = measure_framing(crops)
    print(f"found {len(measured.points):,} of {measured.tried:,} faces")
    print(f"median {measured.framing.as_json()}")
    print(f"spread {measured.spread.round(3).tolist()}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
