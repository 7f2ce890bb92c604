"""A disk that fills up while the program records: the run ends with a clear error, and what was
written can be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rankotom_edge.recording.session import read_session


def test_a_disk_that_fills_up_costs_no_frame_that_was_recorded(
    small_disk: Path,
    camera_program: Callable[..., Any],
    times: Callable[[int, int], int],
    report: Callable[..., None],
    unreadable_bytes: Callable[[Any], int],
) -> None:
    rounds, frames, lost = times(10, 1), 0, 0
    for number in range(rounds):
        folder = small_disk / str(number)
        options = ("--source", "demo", "--view", "none", "--record", folder)
        program = camera_program(*options, *(["--record-video"] if number % 2 == 0 else []))
        said = program.communicate(timeout=300)[1]
        assert program.returncode == 2
        assert "the disk is full" in said
        assert "Traceback" not in said
        session = read_session(folder)
        shown = sum(1 for _ in session.frames())
        frames, lost = frames + shown, lost + unreadable_bytes(session)
        for path in session.folder.iterdir():
            path.unlink()
    report(
        "disk full while recording",
        f"{frames:,} frames, all read again",
        f"{rounds} of {rounds}",
        lost,
    )
