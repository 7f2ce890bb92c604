"""Reads a recorded session, as far as it was written. A session is a folder with these files:

- ``metadata.json``: start, source and model; always replaced as a whole, never half written.
- ``readings.jsonl``: one line per frame, as in ``camera --json``; a cut-off last line is left out.
- ``video.mjpeg`` with ``--record-video``: one image per frame, written before the frame's line.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calib.arrays import as_classes
from calib.errors import RankotomError
from calib.evaluation import Evaluation
from calib.input_files import MEGABYTE, open_input, read_input
from calib.json_fields import (
    as_list,
    as_mapping,
    count,
    count_or_none,
    flag,
    load_json,
    number,
    number_or_none,
    text,
)
from rankotom_edge.frame import Frame, Image
from rankotom_edge.model.card import UNREADABLE, CropContract, MeasuredModel
from rankotom_edge.pictures import MOST_VIDEO_PIXELS, check_size
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.readings.reading import Reading
from rankotom_edge.recording.mjpeg import read_mjpeg

FORMAT = 1
METADATA, READINGS, VIDEO = "metadata.json", "readings.jsonl", "video.mjpeg"
PREFIX = "session-"
FIELDS: Mapping[str, Callable[[Mapping[str, Any], str], object]] = {
    "source": text,
    "started": text,
    "fps": number_or_none,
    "frames": count_or_none,
    "still": flag,
    "photographs": flag,
}
MOST_BYTES, MOST_READINGS = 16 * MEGABYTE, 2**40  # of the metadata; of the readings, read by line
MOST_LINE = MEGABYTE  # a thousand faces
LONGEST = 1e9  # seconds of a recording: thirty years
# Early sessions recorded only the framing; every embedded model then took this crop.
EARLY_CROP = {"size": 48, "channels": 1}

# Shown in place of images that were not recorded.
EMPTY_GREY = 64
EMPTY_SIZE = (640, 480)

MOST_NAMED = 5  # sessions listed in an error


@dataclass(frozen=True, eq=False)
class Session:
    folder: Path
    metadata: Mapping[str, Any]
    complete: bool  # the recording was ended, not cut off
    has_video: bool
    size: tuple[int, int]  # width, height
    model: MeasuredModel  # that read it
    calibration: str | None  # the user's own, in words

    def lines(self) -> Iterator[Mapping[str, Any]]:
        """The JSON of every frame, without a cut-off last one."""
        path = self.folder / READINGS
        with open_input(path, MOST_READINGS) as file:
            for place, line in enumerate(iter(lambda: file.readline(MOST_LINE), b""), start=1):
                if not line.endswith(b"\n") and len(line) < MOST_LINE:
                    return
                with _explain_damage(path, place):
                    frame = as_mapping(load_json(line))
                yield frame

    def images(self) -> Iterator[Image]:
        """From the video; without one, an empty image without end."""
        if self.has_video:
            return read_mjpeg(self.folder / VIDEO)
        width, height = self.size
        return itertools.repeat(np.full((height, width, 3), EMPTY_GREY, np.uint8))

    def frames(self) -> Iterator[FrameReadings]:
        """Every frame that has both its readings and, with video, its image."""
        for place, (line, image) in enumerate(zip(self.lines(), self.images(), strict=False), 1):
            with _explain_damage(self.folder / READINGS, place):
                readings = _frame_readings(line, image, self.model.labels)
            yield readings


def read_session(folder: Path) -> Session:
    """``folder`` is a session, or a folder that holds a single one."""
    folder = _session_folder(folder)
    path = folder / METADATA
    content = read_input(path, MOST_BYTES)
    with _explain_damage(path):
        metadata = as_mapping(load_json(content))
        if count(metadata, "format") > FORMAT:
            raise RankotomError(
                f"The session {folder} is of format {metadata['format']}, and this version reads "
                f"up to {FORMAT}. Update rankotom-edge."
            )
        own = metadata.get("calibration")
        session = Session(
            folder=folder,
            metadata={**metadata, **{name: read(metadata, name) for name, read in FIELDS.items()}},
            complete=flag(metadata, "complete"),
            has_video=flag(metadata, "video"),
            size=_size(metadata),
            model=_measured_model(as_mapping(metadata["model"])),
            calibration=None if own is None else text(as_mapping(own), "words"),
        )
    expected = (READINGS, VIDEO) if session.has_video else (READINGS,)
    missing = [name for name in expected if not (folder / name).is_file()]
    if missing:
        raise RankotomError(f"The session {folder} has lost its {' and '.join(missing)}.")
    return session


def _size(metadata: Mapping[str, Any]) -> tuple[int, int]:
    if metadata["size"] is None:
        return EMPTY_SIZE
    width, height = (count({"size": side}, "size") for side in as_list(metadata["size"]))
    if not (width and height):
        raise ValueError(f"the size is {width} x {height}")
    check_size(width, height, MOST_VIDEO_PIXELS)
    return width, height


def _measured_model(saved: Mapping[str, Any]) -> MeasuredModel:
    return MeasuredModel(
        name=text(saved, "name"),
        precision=text(saved, "precision"),
        labels=as_classes(as_list(saved["labels"]), len(as_list(saved["labels"]))),
        crop=CropContract.from_json({**EARLY_CROP, **saved}),
        evaluation=Evaluation.from_json(saved["figures"]),
    )


def _frame_readings(
    line: Mapping[str, Any], image: Image, labels: tuple[str, ...]
) -> FrameReadings:
    time, latency = number(line, "time"), as_mapping(line["latency_ms"])
    if not 0 <= time <= LONGEST:
        raise ValueError(f"time is {time}")
    readings = tuple(Reading.from_json(as_mapping(face)) for face in as_list(line["faces"]))
    if any(reading.labels != labels for reading in readings):
        raise ValueError(f"a face has other labels than {', '.join(labels)}")
    return FrameReadings(
        frame=Frame(image, index=count(line, "frame"), time=time, captured=time),
        readings=readings,
        latency=Latency(
            number_or_none(latency, "detect"), number(latency, "classify"), number(latency, "total")
        ),
    )


def _session_folder(folder: Path) -> Path:
    if (folder / METADATA).is_file():
        return folder
    if not folder.is_dir():
        raise RankotomError(f"There is no session {folder}: no such folder.")
    sessions = sorted(path.parent for path in folder.glob(f"{PREFIX}*/{METADATA}"))
    if len(sessions) == 1:
        return sessions[0]
    if not sessions:
        raise RankotomError(
            f"{folder} is not a recorded session: there is no {METADATA} in it. "
            "Record one with: rankotom-edge camera --record DIR"
        )
    newest = ", ".join(path.name for path in sessions[: -MOST_NAMED - 1 : -1])
    raise RankotomError(
        f"{folder} holds {len(sessions)} sessions; name one of them. The newest: {newest}."
    )


@contextmanager
def _explain_damage(path: Path | str, line: int | None = None) -> Iterator[None]:
    """Turns what damaged JSON causes into an error that names the file and the line."""
    try:
        yield
    except UNREADABLE as error:
        where = path if line is None else f"Line {line} of {path}"
        raise RankotomError(
            f"{where} is not as rankotom-edge writes it ({error!r:.200}). It was changed or "
            "damaged."
        ) from error
