"""Readings for other programs: a JSON object a line, a frame each, as they come."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from calib.errors import RankotomError

if TYPE_CHECKING:
    from rankotom_edge.readings.frame_readings import FrameReadings

STDOUT = "-"


@dataclass(frozen=True)
class JsonLines:
    """Every line is flushed, so that a reader is never behind and a kill tears one line at most.

    A reader that goes away is a ``BrokenPipeError``: a reason to end, but none to complain.
    """

    file: TextIO
    name: str

    def write(self, moment: FrameReadings) -> None:
        line = json.dumps(moment.as_json(), separators=(",", ":"), allow_nan=False)
        try:
            self.file.write(f"{line}\n")
            self.file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise RankotomError(f"Cannot write to {self.name}: {error.strerror}.") from error


@contextmanager
def json_lines(target: str) -> Iterator[JsonLines]:
    """``target`` is a file, or - for standard output."""
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
        with suppress(OSError):  # of a line that did not get out, which was told already
            file.close()
