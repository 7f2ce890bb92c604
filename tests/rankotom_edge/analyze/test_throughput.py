"""How much more two workers read than one. It takes minutes and two free cores: `make workers`."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest

pytestmark = pytest.mark.skipif(
    "RANKOTOM_WORKERS" not in os.environ, reason="two free cores are not promised: make workers"
)
PAIRS = 3
CLIPS, FRAMES = 12, 250
AT_LEAST = 1.7


def measure(archive: Path, output: Path, workers: int) -> tuple[float, float]:
    """Seconds on the clock, and of the processors."""
    command = ["analyze", str(archive), "-o", str(output), "--workers", str(workers)]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "rankotom_edge", *command, "--format", "csv"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.monotonic() - start, busy


def test_two_workers_read_at_least_1_7_times_as_much_as_one(
    clip_of: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "archive"
    for number in range(CLIPS):
        clip_of(archive / f"{number}.avi", FRAMES, start=2.0 * number)
    gains = []
    for pair in range(PAIRS):
        (one, busy_one), (two, busy_two) = (
            measure(archive, tmp_path / f"{pair} {workers}", workers) for workers in (1, 2)
        )
        gains.append(one / two)
        with capsys.disabled():
            print(
                f"\none worker {one:.1f} s, two {two:.1f} s: {gains[-1]:.2f} times as much; "
                f"processor time {busy_one:.1f} s and {busy_two:.1f} s"
            )
    assert median(gains) >= AT_LEAST
