"""Records a session, so that everything written before a kill or a full disk can be read.

The files are those of ``session``, readable by their owner alone: faces are personal data.
"""

import errno
import itertools
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from io import FileIO
from pathlib import Path

from calib.errors import RankotomError
from rankotom_edge import __version__
from rankotom_edge.closing import Closing
from rankotom_edge.file_locks import lock_file
from rankotom_edge.interrupts import delay_interrupts
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.card import evaluation_as_json
from rankotom_edge.model.own_calibration import SavedCalibration
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.recording.mjpeg import encode_jpeg
from rankotom_edge.recording.session import FORMAT, METADATA, PREFIX, READINGS, VIDEO

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def describe_session(
    source: str,
    artifact: Artifact,
    started: datetime,
    *,
    fps: float | None = None,
    still: bool = False,
    photographs: bool = False,
    options: Mapping[str, object] | None = None,
    own: SavedCalibration | None = None,
) -> dict[str, object]:
    """The metadata that is known before the first frame."""
    card = artifact.card
    measured = card if own is None else own.measured_model(card)
    return {
        "format": FORMAT,
        "created_by": f"rankotom-edge {__version__}",
        "started": started.isoformat(timespec="seconds"),
        "source": source,
        "fps": fps,
        "still": still,
        "photographs": photographs,
        "model": artifact.summary()
        | {
            "labels": list(card.labels),
            "temperature": card.temperature,
            "figures": evaluation_as_json(measured.evaluation),
        }
        | card.crop.as_json(),
        "calibration": None if own is None else own.summary(),
        "options": dict(options or {}),
    }


class Recorder(Closing):
    """Writes a session into a new folder inside ``parent``, named after its start."""

    def __init__(self, parent: Path, metadata: Mapping[str, object], video: bool = False) -> None:
        self.frames = 0
        self._metadata = {
            **metadata,
            "size": None,
            "video": video,
            "complete": False,
            "frames": None,
        }
        self._files: list[FileIO] = []
        self.folder = _new_folder(parent, datetime.fromisoformat(str(metadata["started"])))
        try:
            self._readings = self._open(READINGS)
            with suppress(OSError):  # not every file system has locks
                lock_file(self._readings)  # see retention
            self._video = self._open(VIDEO) if video else None
            self._write_metadata()
        except OSError as error:
            raise self._stop(error) from error

    def write(self, latest: FrameReadings) -> None:
        line = json.dumps(latest.as_json(), separators=(",", ":"), allow_nan=False)
        with delay_interrupts():  # an interrupt would leave a line that is not counted
            self._add(latest, line)

    def _add(self, latest: FrameReadings, line: str) -> None:
        try:
            if self.frames == 0:
                height, width = latest.frame.image.shape[:2]
                self._metadata["size"] = [width, height]
                self._write_metadata()
            if self._video is not None:
                # Before the line, so that every line in the file has its image.
                _write_all(self._video, encode_jpeg(latest.frame.image))
            _write_all(self._readings, f"{line}\n".encode())
        except OSError as error:
            raise self._stop(error) from error
        self.frames += 1

    def close(self) -> None:
        """Marks the session complete; does nothing the second time or after an error."""
        with delay_interrupts():
            self._finish()

    def _finish(self) -> None:
        if not self._files:
            return
        self._close_files()
        self._metadata |= {"complete": True, "frames": self.frames}
        try:
            self._write_metadata()
        except OSError as error:
            raise self._stop(error) from error

    def _open(self, name: str) -> FileIO:
        """Unbuffered, so that every write reaches the file or raises."""
        descriptor = os.open(self.folder / name, NEW_FILE, PRIVATE_FILE)
        self._files.append(FileIO(descriptor, "wb"))
        return self._files[-1]

    def _write_metadata(self) -> None:
        temporary = self.folder / f"{METADATA}.new"
        descriptor = os.open(temporary, NEW_FILE, PRIVATE_FILE)
        try:
            with FileIO(descriptor, "wb") as file:
                _write_all(file, json.dumps(self._metadata, indent=2).encode())
            os.replace(temporary, self.folder / METADATA)
        finally:
            temporary.unlink(missing_ok=True)

    def _close_files(self) -> None:
        files, self._files = self._files, []
        for file in files:
            file.close()

    def _stop(self, error: OSError) -> RankotomError:
        """Close the files as they are, with metadata that still says incomplete; delete a session
        without a frame."""
        self._close_files()
        if self.frames == 0:
            with suppress(OSError):
                shutil.rmtree(self.folder)
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "the disk is full" if full else f"{error.strerror}"
        kept = (
            f"The {self.frames:,} frames before can be replayed"
            if self.frames
            else "Nothing was recorded"
        )
        advice = "; make room, or record elsewhere." if full else "; record elsewhere."
        return RankotomError(f"Cannot write to {self.folder}: {reason}. {kept}{advice}")


def _write_all(file: FileIO, content: bytes) -> None:
    """On a nearly full disk a write takes what fits, and only the next one fails."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


def _new_folder(parent: Path, started: datetime) -> Path:
    name = f"{PREFIX}{started:%Y-%m-%dT%H-%M-%S}"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for attempt in itertools.count(1):
            folder = parent / (name if attempt == 1 else f"{name}-{attempt}")
            with suppress(FileExistsError):
                folder.mkdir(mode=PRIVATE_FOLDER)
                break
    except OSError as error:
        raise RankotomError(f"Cannot record into {parent}: {error.strerror}.") from error
    return folder
