"""Cameras lost and back again and again, while the program records them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rankotom_edge.recording.session import read_session

# The shortest pause that is a setting of the program, in place of half a second to ten.
PAUSE = 0.05


def memory(pid: int) -> int:
    """Resident bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def handles(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_a_camera_is_lost_and_back_and_its_recording_goes_on(
    bad_camera: Any,
    camera_program: Callable[..., Any],
    wait_until: Callable[..., None],
    times: Callable[[int, int], int],
    tmp_path: Path,
    report: Callable[..., None],
    unreadable_bytes: Callable[[Any], int],
) -> None:
    losses = times(100, 14)
    program = camera_program(
        *("--source", bad_camera.url, "--view", "none"),
        *("--record", tmp_path, "--record-video", "--max-pause", PAUSE),
    )

    def alive() -> bool:
        assert program.poll() is None, program.stderr.read()
        return True

    wait_until(lambda: alive() and any(tmp_path.glob("*/video.mjpeg")), "the recording")
    (readings,) = tmp_path.glob("*/readings.jsonl")
    wait_until(lambda: alive() and readings.stat().st_size > 1000, "the recording")
    bad_camera.good = False
    early = max(5, losses // 5)
    wait_until(lambda: alive() and bad_camera.losses >= early, "some losses", 600)
    began = memory(program.pid), handles(program.pid)
    wait_until(lambda: alive() and bad_camera.losses >= losses, "all losses", 1200)
    bad_camera.good = True
    before = readings.stat().st_size
    wait_until(lambda: alive() and readings.stat().st_size > before + 2000, "the recording")
    grown = memory(program.pid) - began[0]
    opened = handles(program.pid) - began[1]
    program.terminate()
    assert program.wait(60) == 130
    assert "Traceback" not in program.stderr.read()

    session = read_session(tmp_path)
    shown = sum(1 for _ in session.frames())
    assert session.complete
    assert shown == session.metadata["frames"]
    sizes = {frame.frame.image.shape for frame in session.frames()}
    assert len(sizes) == 2, "both resolutions were recorded"
    assert grown < 200e6
    assert opened < 10
    kinds = ", ".join(f"{count} {name}" for name, count in sorted(bad_camera.faults.items()))
    report(
        f"camera lost and back, {bad_camera.kind} over HTTP ({kinds})",
        f"{shown:,} frames recorded, with pictures",
        f"{bad_camera.losses} of {bad_camera.losses}",
        unreadable_bytes(session),
    )
