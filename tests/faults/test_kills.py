"""kill -9 in the middle of recording and of exporting: what was written can be read."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.recording.session import read_session

ANY_CHANGE = [f"--{name}-limit=100%" for name in ("ece", "aece", "accuracy", "flips")]


def test_killed_recordings_can_be_read_to_their_last_frame(
    camera_program: Callable[..., Any],
    wait_until: Callable[..., None],
    times: Callable[[int, int], int],
    tmp_path: Path,
    report: Callable[..., None],
    unreadable_bytes: Callable[[Any], int],
) -> None:
    kills, frames, lost = times(50, 2), 0, 0
    chance = random.Random(0)
    for number in range(kills):
        folder = tmp_path / str(number)
        options = ("--source", "demo", "--view", "none", "--record", folder, "--record-video")
        program = camera_program(*options)
        least = chance.randrange(1, 20_000)

        def recorded(folder: Path = folder, least: int = least) -> bool:
            return any(each.stat().st_size > least for each in folder.glob("*/readings.jsonl"))

        wait_until(recorded, "a recording")
        program.kill()
        program.wait(60)
        session = read_session(folder)
        shown = sum(1 for _ in session.frames())
        assert not session.complete
        assert shown >= 1
        cut = unreadable_bytes(session)
        assert cut < 4096, "at most the frame that was being written"
        frames, lost = frames + shown, lost + cut
    report(
        "kill -9 while recording", f"{frames:,} frames, all read again", f"{kills} of {kills}", lost
    )


def test_two_signals_at_once_leave_a_whole_session(
    camera_program: Callable[..., Any],
    wait_until: Callable[..., None],
    times: Callable[[int, int], int],
    tmp_path: Path,
    report: Callable[..., None],
    unreadable_bytes: Callable[[Any], int],
) -> None:
    """As from a service manager and a terminal, or a person who presses twice."""
    ends, frames, lost = times(20, 1), 0, 0
    chance = random.Random(0)
    for number in range(ends):
        folder = tmp_path / str(number)
        program = camera_program("--source", "demo", "--view", "none", "--record", folder)

        def recorded(folder: Path = folder) -> bool:
            return any(each.stat().st_size > 1000 for each in folder.glob("*/readings.jsonl"))

        wait_until(recorded, "a recording")
        program.send_signal(signal.SIGINT)
        time.sleep(chance.uniform(0, 0.01))
        program.send_signal(signal.SIGTERM)
        assert program.wait(60) == 130
        session = read_session(folder)
        assert session.complete
        frames += session.metadata["frames"]
        lost += unreadable_bytes(session)
    load = f"{frames:,} frames, all read again"
    report("two signals within 10 ms while recording", load, f"{ends} of {ends}", lost)
    assert lost == 0


def test_a_killed_export_leaves_a_whole_file_or_none(
    times: Callable[[int, int], int],
    tmp_path: Path,
    tiny_artifact: Any,
    made_ferplus: Path,
    report: Callable[..., None],
) -> None:
    """Killed at any time of a run, each run a little later than the one before."""
    kills, target = times(50, 3), tmp_path / "out" / "small.onnx"
    target.parent.mkdir()
    command = [sys.executable, "-m", "rankotom_edge", "export", str(tiny_artifact.path), "--fp16"]
    command += ["--data", str(made_ferplus), *ANY_CHANGE, "-o", str(target)]
    began = time.monotonic()
    finished = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stderr
    kept = shutil.copy(target, tmp_path / "kept.onnx")
    took, before, whole = time.monotonic() - began, load_artifact(str(target)).card, 0
    for number in range(kills):
        replaces = number % 2 == 0
        if not replaces:
            target.unlink(missing_ok=True)
        program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            program.wait(took * (0.4 + 0.6 * number / kills))
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait(60)
        if target.exists():
            assert load_artifact(str(target)).card == before  # it reads and checks the whole file
            whole += 1
        else:
            assert not replaces, "the file from before is gone"
            shutil.copy(kept, target)
    load = f"{whole} times a whole file, {kills - whole} times none"
    report("kill -9 while exporting", load, f"{kills} of {kills}", 0)
