"""The label file: one label a line, on the disk before the next face is shown."""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from calib.errors import RankotomError
from rankotom_edge.closing import Closing
from rankotom_edge.file_locks import lock_file

FORMAT = 1
# Every line begins like this, and so does a line that a kill or a full disk cut off.
LINE_START = f'{{"format":{FORMAT},"face":"'.encode()
MAX_BYTES = 64 * 1024**2  # of the file: 100,000 labels and more; a larger one is something else
MAX_TEXT = 4096  # characters of a key or a group, which may hold the path of a photograph
MAX_NAME = 40  # characters of a rater's name, so that it fits into a page's header
MAX_LOGITS = 100
SHOWN = 40  # characters that an error shows of a wrong value
# Whoever may read the labels learns who was filmed, and what another said of their face.
MODE = 0o600


@dataclass(frozen=True)
class Label:
    """What one rater said of one face. ``logits`` are the model's, as in ``FaceToLabel``."""

    face: str
    group: str
    rater: str
    expression: str | None  # None: the rater cannot tell
    logits: tuple[float, ...]
    model: str
    sha256: str
    time: datetime  # with its time zone

    def as_json(self) -> dict[str, object]:
        return {
            "format": FORMAT,
            "face": self.face,
            "group": self.group,
            "rater": self.rater,
            "label": self.expression,
            "logits": list(self.logits),
            "model": self.model,
            "sha256": self.sha256,
            "time": self.time.isoformat(timespec="seconds"),
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Label:
        """Raises ValueError, KeyError or RankotomError for what ``as_json`` does not write."""
        if saved["format"] is True or saved["format"] != FORMAT:
            raise ValueError(f"format {saved['format']!r}; this version reads {FORMAT}")
        expression = saved["label"]
        time = datetime.fromisoformat(_text(saved, "time"))
        if time.tzinfo is None:
            raise ValueError("the time has no time zone")
        return cls(
            face=_text(saved, "face"),
            group=_text(saved, "group"),
            rater=check_rater(_text(saved, "rater")),
            expression=None if expression is None else _text(saved, "label"),
            logits=_logits(saved["logits"]),
            model=_text(saved, "model"),
            sha256=_text(saved, "sha256"),
            time=time,
        )


class LabelFile(Closing):
    """A label file that this process alone appends to; it is made if it is missing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            _lock(self._file, path)
            self._labels, self._complete = _read(self._file, path)
        except BaseException:
            self._file.close()
            raise

    @property
    def labels(self) -> tuple[Label, ...]:
        """All that are in the file, oldest first."""
        return tuple(self._labels)

    def append(self, label: Label) -> None:
        """Returns when the label is on the disk; after an error it is not in the file."""
        line = _as_line(label)
        number = self._file.fileno()
        before: int | None = None
        try:
            if self._complete is not None:
                os.ftruncate(number, self._complete)
                self._complete = None
            before = os.fstat(number).st_size
            written = 0
            while written < len(line):
                written += os.write(number, line[written:])
            os.fsync(number)
        except OSError as error:
            with suppress(OSError):
                if before is not None:
                    os.ftruncate(number, before)
            raise RankotomError(
                f"Cannot write to {self.path}: {error.strerror}. The labels before are kept; "
                "make room, and start again where you stopped."
            ) from error
        self._labels.append(label)

    def close(self) -> None:
        """Gives the file to other processes."""
        self._file.close()


def read_labels(path: Path) -> tuple[Label, ...]:
    """All that are in the file, oldest first, also while another process appends to it."""
    with _open(path, os.O_RDONLY) as file:
        return tuple(_read(file, path)[0])


def check_rater(name: str) -> str:
    """The name, if it can be printed on one line; it is never interpreted."""
    if not name or len(name) > MAX_NAME or name != name.strip() or not name.isprintable():
        raise RankotomError(
            f"A rater's name has 1 to {MAX_NAME} printable characters, without spaces around it, "
            f"and {_quote(name)} does not."
        )
    return name


def _open(path: Path, flags: int) -> BinaryIO:
    """Neither waits for the other end of a FIFO nor reads a device."""
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    try:
        number = os.open(path, flags, MODE)
    except (OSError, ValueError) as error:
        words = getattr(error, "strerror", None) or error
        raise RankotomError(f"Cannot open the label file {path}: {words}.") from error
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise RankotomError(f"{path} is no ordinary file, so it cannot hold labels.")
    return open(number, "r+b" if flags & os.O_RDWR else "rb", buffering=0)


def _lock(file: BinaryIO, path: Path) -> None:
    try:
        lock_file(file)
    except BlockingIOError:
        raise RankotomError(
            f"{_holder(file)} is labelling into {path}. Wait until it ends, or label into another "
            "file."
        ) from None
    except OSError as error:
        raise RankotomError(
            f"Cannot lock {path}: {error.strerror}. Keep the label file on another file system."
        ) from error


def _holder(file: BinaryIO) -> str:
    """Linux tells which process has the lock."""
    inode = os.fstat(file.fileno()).st_ino
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            _, kind, _, _, process, place, *_ = line.split()
            # Process 0 is one outside of this container.
            if kind == "FLOCK" and place.endswith(f":{inode}") and process != "0":
                return f"Another rankotom-edge (process {process})"
    return "Another rankotom-edge"


def _read(file: BinaryIO, path: Path) -> tuple[list[Label], int | None]:
    """The labels, and where the last complete line ends if another was cut off."""
    size = os.fstat(file.fileno()).st_size
    if size > MAX_BYTES:
        raise RankotomError(f"{path} is no label file: it has {size:,} bytes. Choose another.")
    with _explain(f"Cannot read {path}"):
        content = file.read(MAX_BYTES)
    *lines, rest = content.split(b"\n")
    labels = []
    for number, line in enumerate(lines, start=1):
        with _explain(f"Line {number} of {path} is not a label as rankotom-edge writes it"):
            labels.append(_parse(line))
    with _explain(f"The end of {path} is not a label as rankotom-edge writes it"):
        if not LINE_START.startswith(rest[: len(LINE_START)]):
            raise ValueError(f"it begins with {_quote(rest)}")
    return labels, len(content) - len(rest) if rest else None


def _as_line(label: Label) -> bytes:
    with _explain("This is no label to keep"):
        line = json.dumps(label.as_json(), separators=(",", ":"), allow_nan=False).encode()
        _parse(line)
    return line + b"\n"


def _parse(line: bytes) -> Label:
    saved = json.loads(line, parse_constant=_reject_constant)
    if not isinstance(saved, dict):
        raise ValueError(f"it is {_quote(saved)}")
    return Label.from_json(saved)


def _text(saved: Mapping[str, Any], name: str) -> str:
    value = saved[name]
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT:
        raise ValueError(f"its {name} is {_quote(value)}")
    return value


def _logits(values: object) -> tuple[float, ...]:
    if not isinstance(values, list) or not 2 <= len(values) <= MAX_LOGITS:
        raise ValueError(f"its logits are {_quote(values)}")
    for value in values:
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not math.isfinite(value):
            raise ValueError(f"one of its logits is {_quote(value)}")
    return tuple(float(value) for value in values)


def _reject_constant(constant: str) -> float:
    """Python reads NaN and Infinity, which JSON does not have."""
    raise ValueError(f"{constant} is no number")


def _quote(value: object) -> str:
    words = repr(value)
    return words if len(words) <= SHOWN else f"{words[:SHOWN]}…"


@contextmanager
def _explain(what: str) -> Iterator[None]:
    """Turns what strange content causes into an error that says where it is."""
    try:
        yield
    except KeyError as error:
        reason = f"it has no {error}"
    except RecursionError:
        reason = "it is nested too deeply"
    except (OSError, OverflowError, ValueError, RankotomError) as error:
        reason = str(error)
    else:
        return
    raise RankotomError(
        f"{what}: {reason}. It was not changed; look at it, or choose another file."
    )
