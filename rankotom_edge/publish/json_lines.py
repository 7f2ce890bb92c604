"""Writes readings as JSON lines, one frame per line, to a file or standard output."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from calib.errors import RankotomError
from calib.files import open_output

if TYPE_CHECKING:  # every help page imports this module
    from rankotom_edge.readings.frame_readings import FrameReadings

STDOUT = "-"
PRIVATE_FILE = 0o600  # readings of faces are personal data, as in a recorded session


@dataclass(frozen=True)
class JsonLines:
    """Flushes every line, so that a reader is never behind and a kill cuts off one line at most.

    Raises ``BrokenPipeError`` when the reader has gone: the run ends, without an error message.
    """

    file: TextIO
    name: str

    def write(self, latest: FrameReadings) -> None:
        line = json.dumps(latest.as_json(), separators=(",", ":"), allow_nan=False)
        try:
            self.file.write(f"{line}\n")
            self.file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise RankotomError(f"Cannot write to {self.name}: {error.strerror}.") from error


@contextmanager
def json_lines(target: str) -> Iterator[JsonLines]:
    """``target`` is a file name, or ``-`` for standard output."""
    if target == STDOUT:
        yield JsonLines(sys.stdout, "standard output")
        return
    try:
        number = open_output(Path(target), PRIVATE_FILE)
        if sys.platform != "win32" and stat.S_ISREG(os.fstat(number).st_mode):
            os.fchmod(number, PRIVATE_FILE)  # it may have been there
        file = open(number, "w", encoding="utf-8")  # noqa: SIM115  (closed below)
    except OSError as error:
        raise RankotomError(f"Cannot write to {target}: {error.strerror}.") from error
    try:
        yield JsonLines(file, target)
    finally:
        with suppress(OSError):  # of a failed write, which was reported already
            file.close()
