"""Writes readings as JSON lines, one frame per line, to a file or standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from calib.errors import RankotomError

if TYPE_CHECKING:  # every help page imports this module
    from rankotom_edge.readings.frame_readings import FrameReadings

STDOUT = "-"


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
        file = Path(target).open("w", encoding="utf-8")  # noqa: SIM115  (closed below)
    except OSError as error:
        raise RankotomError(f"Cannot write to {target}: {error.strerror}.") from error
    try:
        yield JsonLines(file, target)
    finally:
        with suppress(OSError):  # of a failed write, which was reported already
            file.close()
