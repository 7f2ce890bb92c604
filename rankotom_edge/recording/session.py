"""Reads a recorded session, as far as it was written. A session is a folder with these files:

- ``metadata.json``: start, source and model; always replaced as a whole, never half written.
- ``readings.jsonl``: one line per frame, as in ``camera --json``; a cut-off last line is left out.
- ``video.mjpeg`` with ``--record-video``: one image per frame, written before the frame's line.
"""

import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from calib.errors import RankotomError
from calib.evaluation import Evaluation
from rankotom_edge.frame import Frame, Image
from rankotom_edge.model.card import CropContract, MeasuredModel
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.readings.reading import Reading
from rankotom_edge.recording.mjpeg import read_mjpeg

FORMAT = 1
METADATA, READINGS, VIDEO = "metadata.json", "readings.jsonl", "video.mjpeg"
PREFIX = "session-"
REQUIRED = ("source", "started", "fps", "video", "complete")
REQUIRED_OF_MODEL = ("name", "precision", "labels")
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

    def lines(self) -> Iterator[dict[str, Any]]:
        """The JSON of every frame, without a cut-off last one."""
        with _open(self.folder / READINGS) as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    return
                with _explain_damage(file.name, number):
                    frame = json.loads(line, parse_constant=_reject_constant)
                yield frame

    def images(self) -> Iterator[Image]:
        """From the video; without one, an empty image without end."""
        if self.has_video:
            return read_mjpeg(self.folder / VIDEO)
        width, height = self.size
        return itertools.repeat(np.full((height, width, 3), EMPTY_GREY, np.uint8))

    def frames(self) -> Iterator[FrameReadings]:
        """Every frame that has both its readings and, with video, its image."""
        for number, (line, image) in enumerate(zip(self.lines(), self.images(), strict=False), 1):
            with _explain_damage(self.folder / READINGS, number):
                readings = _frame_readings(line, image)
            yield readings


def read_session(folder: Path) -> Session:
    """``folder`` is a session, or a folder that holds a single one."""
    folder = _session_folder(folder)
    path = folder / METADATA
    with _open(path) as file, _explain_damage(path):
        metadata = json.load(file)
        if int(metadata["format"]) > FORMAT:
            raise RankotomError(
                f"The session {folder} is of format {metadata['format']}, and this version reads "
                f"up to {FORMAT}. Update rankotom-edge."
            )
        missing = [name for name in REQUIRED if name not in metadata]
        missing += [name for name in REQUIRED_OF_MODEL if name not in metadata["model"]]
        if missing:
            raise ValueError(f"no {', '.join(missing)}")
        width, height = metadata["size"] or EMPTY_SIZE
        session = Session(
            folder=folder,
            metadata=metadata,
            complete=bool(metadata["complete"]),
            has_video=bool(metadata["video"]),
            size=(int(width), int(height)),
            model=_measured_model(metadata["model"]),
        )
    expected = (READINGS, VIDEO) if session.has_video else (READINGS,)
    missing = [name for name in expected if not (folder / name).is_file()]
    if missing:
        raise RankotomError(f"The session {folder} has lost its {' and '.join(missing)}.")
    return session


def _measured_model(saved: Mapping[str, Any]) -> MeasuredModel:
    return MeasuredModel(
        name=str(saved["name"]),
        precision=str(saved["precision"]),
        labels=tuple(saved["labels"]),
        crop=CropContract.from_json({**EARLY_CROP, **saved}),
        evaluation=Evaluation.from_json(saved["figures"]),
    )


def _frame_readings(line: Mapping[str, Any], image: Image) -> FrameReadings:
    time, latency = float(line["time"]), line["latency_ms"]
    return FrameReadings(
        frame=Frame(image, index=int(line["frame"]), time=time, captured=time),
        readings=tuple(Reading.from_json(face) for face in line["faces"]),
        latency=Latency(latency["detect"], latency["classify"], latency["total"]),
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


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise RankotomError(f"Cannot read {path}: {error.strerror}.") from error


def _reject_constant(constant: str) -> float:
    """Python reads NaN and Infinity, which JSON does not have."""
    raise ValueError(f"{constant} is no number")


@contextmanager
def _explain_damage(path: Path | str, line: int | None = None) -> Iterator[None]:
    """Turns what damaged JSON causes into an error that names the file and the line."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        where = path if line is None else f"Line {line} of {path}"
        raise RankotomError(
            f"{where} is not as rankotom-edge writes it ({error!r}). It was changed or damaged."
        ) from error
