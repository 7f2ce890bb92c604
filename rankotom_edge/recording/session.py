"""Record and replay: what was written before a kill or a full disk can be read.

A session is a folder of its own, for its owner's eyes alone: faces are personal data.

- ``metadata.json``: when, from what, by which model; replaced as a whole, never half written.
- ``readings.jsonl``: a line a frame as in ``camera --json``, flushed each; a torn last line is
  passed over.
- ``video.mjpeg``, if asked for: a JPEG a frame, one after the other, before the frame's line. Of
  100 frames that were written when the writer got a kill -9, this gives back all; OpenCV's Motion
  JPEG gives back 92 from .mkv and 93 to 99 from .avi, of 10 frames none or 9, and mp4 nothing. And
  OpenCV's writer says nothing of a full disk.
"""

from __future__ import annotations

import errno
import itertools
import json
import mmap
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import cv2
import numpy as np

from calib.arrays import FloatArray
from calib.errors import RankotomError
from rankotom_edge import __version__
from rankotom_edge.closing import Closing
from rankotom_edge.faces.crop import crop
from rankotom_edge.frame import Frame, Image
from rankotom_edge.interrupts import undisturbed
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.card import CropContract
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.readings.reading import Reading

if TYPE_CHECKING:
    from rankotom_edge.model.classifier import Classifier

FORMAT = 1
METADATA, READINGS, VIDEO = "metadata.json", "readings.jsonl", "video.mjpeg"
PREFIX = "session-"
PROMISED = ("source", "started", "fps", "video", "complete")
OF_THE_MODEL = ("name", "precision", "labels")
# Earlier sessions have the framing alone; this is what every embedded model took.
EARLIER_CROP = {"size": 48, "channels": 1}

# A face cropped again from the video must read as it did live.
JPEG_QUALITY = 95
END_OF_IMAGE = b"\xff\xd9"

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL

# What stands for a picture that was not recorded.
EMPTY_GREY = 64
USUAL_SIZE = (640, 480)

BATCH = 64
MOST_NAMED = 5  # sessions in an error


def describe_session(
    source: str,
    artifact: Artifact,
    started: datetime,
    *,
    fps: float | None = None,
    still: bool = False,
    photographs: bool = False,
    options: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """The metadata that is known before the first frame."""
    card = artifact.card
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
            "figures": dict(card.figures),
        }
        | card.crop.as_json(),
        "options": dict(options or {}),
    }


class Recorder(Closing):
    """Writes a session into a new folder inside ``parent``, named by its start."""

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
            self._video = self._open(VIDEO) if video else None
            self._write_metadata()
        except OSError as error:
            raise self._stopped(error) from error

    def write(self, moment: FrameReadings) -> None:
        line = json.dumps(moment.as_json(), separators=(",", ":"), allow_nan=False)
        with undisturbed():  # an interrupt would leave a line that is not counted
            self._add(moment, line)

    def _add(self, moment: FrameReadings, line: str) -> None:
        try:
            if self.frames == 0:
                height, width = moment.frame.image.shape[:2]
                self._metadata["size"] = [width, height]
                self._write_metadata()
            if self._video is not None:
                # Before the line: a line in the file promises its picture.
                _write_all(self._video, _as_jpeg(moment.frame.image))
            _write_all(self._readings, f"{line}\n".encode())
        except OSError as error:
            raise self._stopped(error) from error
        self.frames += 1

    def close(self) -> None:
        """Call it complete; after that, or after an error, there is nothing left to close."""
        if not self._files:
            return
        self._close_files()
        self._metadata |= {"complete": True, "frames": self.frames}
        try:
            self._write_metadata()
        except OSError as error:
            raise self._stopped(error) from error

    def _open(self, name: str) -> FileIO:
        """Without a buffer, so that every write reaches the file or says why not."""
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

    def _stopped(self, error: OSError) -> RankotomError:
        """What is in the files stays, and the metadata goes on saying that it isn't complete; a
        session without a frame leaves nothing."""
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


@dataclass(frozen=True, eq=False)
class Session:
    """A recorded session, read as far as it was written."""

    folder: Path
    metadata: Mapping[str, Any]
    complete: bool  # the recording was ended, not cut off
    has_video: bool
    labels: tuple[str, ...]
    size: tuple[int, int]  # width, height
    figures: Mapping[str, Any]  # of the model that read it, as its card has them
    crop: CropContract  # of that model

    def lines(self) -> Iterator[dict[str, Any]]:
        """The frames as they were written, but for a last one that was cut off."""
        with _opened(self.folder / READINGS) as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    return
                with _explained(file.name, number):
                    frame = json.loads(line, parse_constant=_no_number)
                yield frame

    def pictures(self) -> Iterator[Image]:
        """Those of the video; without one, an empty picture as often as is asked for."""
        if self.has_video:
            return _jpegs(self.folder / VIDEO)
        width, height = self.size
        return itertools.repeat(np.full((height, width, 3), EMPTY_GREY, np.uint8))

    def moments(self) -> Iterator[FrameReadings]:
        """The frames as they were shown, as far as both readings and video go."""
        for number, (line, image) in enumerate(zip(self.lines(), self.pictures(), strict=False), 1):
            with _explained(self.folder / READINGS, number):
                moment = recorded_moment(line, image)
            yield moment


def read_session(folder: Path) -> Session:
    """A session's own folder, or one that holds a single session."""
    chosen = _session_folder(folder)
    path = chosen / METADATA
    with _opened(path) as file, _explained(path):
        metadata = json.load(file)
        if int(metadata["format"]) > FORMAT:
            raise RankotomError(
                f"The session {chosen} is of format {metadata['format']}, and this version reads "
                f"up to {FORMAT}. Update rankotom-edge."
            )
        missing = [name for name in PROMISED if name not in metadata]
        missing += [name for name in OF_THE_MODEL if name not in metadata["model"]]
        if missing:
            raise ValueError(f"no {', '.join(missing)}")
        width, height = metadata["size"] or USUAL_SIZE
        session = Session(
            folder=chosen,
            metadata=metadata,
            complete=bool(metadata["complete"]),
            has_video=bool(metadata["video"]),
            labels=tuple(metadata["model"]["labels"]),
            size=(int(width), int(height)),
            figures=metadata["model"]["figures"],
            crop=CropContract.from_json(EARLIER_CROP | metadata["model"]),
        )
    promised = (READINGS, VIDEO) if session.has_video else (READINGS,)
    missing = [name for name in promised if not (chosen / name).is_file()]
    if missing:
        raise RankotomError(f"The session {chosen} has lost its {' and '.join(missing)}.")
    return session


class Reread(NamedTuple):
    """The probabilities of every face in a session, a row each, in the order of ``labels``."""

    labels: tuple[str, ...]
    recorded: FloatArray  # of each frame alone, not smoothed
    again: FloatArray


def reread(
    session: Session,
    classifier: Classifier,
) -> Reread:
    """Another model over the faces of a session."""
    card = classifier.artifact.card
    if not session.has_video:
        raise RankotomError(
            f"The session {session.folder} has no video for another model to look at. "
            "Record one with: rankotom-edge camera --record DIR --record-video"
        )
    if set(card.labels) != set(session.labels):
        raise RankotomError(
            f"{card.name} names {', '.join(card.labels)}; the session was recorded by a model that "
            f"names {', '.join(session.labels)}. Only models of the same emotions can be compared."
        )
    columns = [card.labels.index(name) for name in session.labels]
    size, channels = card.crop.size, card.crop.channels
    faces = (
        (reading.raw, crop(moment.frame.image, reading.face, card.crop.framing, size, channels))
        for moment in session.moments()
        for reading in moment.readings
    )
    recorded, again = [], []
    while batch := list(itertools.islice(faces, BATCH)):
        recorded += [raw for raw, _ in batch]
        scores = classifier.classify(np.stack([seen for _, seen in batch]))
        again.append(scores.probabilities[:, columns].astype(np.float64))
    if not recorded:
        raise RankotomError(f"There is no face in the session {session.folder}.")
    return Reread(session.labels, np.stack(recorded), np.concatenate(again))


def recorded_moment(line: Mapping[str, Any], image: Image) -> FrameReadings:
    """What was said of a frame, with the picture it was said of."""
    time, latency = float(line["time"]), line["latency_ms"]
    return FrameReadings(
        frame=Frame(image, index=int(line["frame"]), time=time, captured=time),
        readings=tuple(Reading.from_json(face) for face in line["faces"]),
        latency=Latency(latency["detect"], latency["classify"], latency["total"]),
    )


def _as_jpeg(image: Image) -> bytes:
    return cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1].tobytes()


def _jpegs(path: Path) -> Iterator[Image]:
    """Split where a picture ends, which its own data can't look like: JPEG puts a 0 behind every
    0xff in it. What has no end was cut off."""
    with _opened(path) as file:
        if os.fstat(file.fileno()).st_size == 0:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as stream:
            start = 0
            while (found := stream.find(END_OF_IMAGE, start)) >= 0:
                end = found + len(END_OF_IMAGE)
                yield _decoded(stream[start:end], path)
                start = end


def _decoded(jpeg: bytes, path: Path) -> Image:
    image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        raise RankotomError(f"{path} is damaged: a picture in it can't be decoded.")
    return np.asarray(image, dtype=np.uint8)


def _write_all(file: FileIO, content: bytes) -> None:
    """On a nearly full disk a write takes what fits, and only the next one fails."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


def _new_folder(parent: Path, started: datetime) -> Path:
    name = f"{PREFIX}{started:%Y-%m-%dT%H-%M-%S}"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for again in itertools.count(2):
            folder = parent / name
            try:
                folder.mkdir(mode=PRIVATE_FOLDER)
            except FileExistsError:
                name = f"{PREFIX}{started:%Y-%m-%dT%H-%M-%S}-{again}"
            else:
                break
    except OSError as error:
        raise RankotomError(f"Cannot record into {parent}: {error.strerror}.") from error
    return folder


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


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise RankotomError(f"Cannot read {path}: {error.strerror}.") from error


def _no_number(constant: str) -> float:
    """JSON has no NaN and no infinity, though Python reads them."""
    raise ValueError(f"{constant} is no number")


@contextmanager
def _explained(path: Path | str, number: int | None = None) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        where = path if number is None else f"Line {number} of {path}"
        raise RankotomError(
            f"{where} does not read as a recording of ours ({error!r}). It was changed or damaged."
        ) from error
