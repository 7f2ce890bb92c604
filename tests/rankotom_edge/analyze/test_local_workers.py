"""Real worker processes, which are killed."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rankotom_edge.analyze.local_workers import read_locally
from rankotom_edge.analyze.read_video import Analysis, Failure, Task

PATIENCE = 120.0


@pytest.fixture
def tasks(
    clip_of: Callable[..., Path], task_of: Callable[[Path], Task], tmp_path: Path
) -> list[Task]:
    """The first is long enough to be killed in the middle."""
    counts = (400, 10, 11)
    paths = [clip_of(tmp_path / f"{n}.avi", count) for n, count in enumerate(counts)]
    return [task_of(path) for path in paths]


def test_a_worker_that_dies_costs_its_video_alone(tasks: list[Task]) -> None:
    ended: dict[str, object] = {}
    killed = False
    for task, step in read_locally(tasks, workers=1):
        if not killed:
            assert isinstance(step, float)
            (worker,) = multiprocessing.active_children()
            worker.kill()
            killed = True
        if not isinstance(step, float):
            ended[task.video.name] = step
    assert ended.pop("0.avi") == Failure("the process that read it was ended by SIGKILL")
    assert list(ended) == ["1.avi", "2.avi"]
    assert all(isinstance(each, Analysis) for each in ended.values())
    assert multiprocessing.active_children() == []


def test_two_workers_give_what_one_gives(tasks: list[Task]) -> None:
    found = []
    for workers in (1, 2):
        steps = read_locally(tasks[1:], workers)
        found.append({task.video.name: step for task, step in steps})
    assert found[0] == found[1]


def test_who_stops_listening_leaves_no_process(tasks: list[Task]) -> None:
    steps = read_locally(tasks, workers=2)
    next(steps)
    assert len(multiprocessing.active_children()) == 2
    steps.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


def test_workers_end_when_the_process_that_started_them_is_killed(archive: Path) -> None:
    command = ["analyze", str(archive), "--workers", "2", "--format", "csv"]
    command += ["--output", str(archive.parent / "killed")]
    program = subprocess.Popen(
        [sys.executable, "-m", "rankotom_edge", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    children: list[int] = []
    end = time.monotonic() + PATIENCE
    while len(children) < 3 and time.monotonic() < end:  # two workers, and multiprocessing's own
        children = children_of(program.pid)
        time.sleep(0.05)
    program.send_signal(signal.SIGKILL)
    program.wait()
    assert len(children) >= 2
    while any(is_running(child) for child in children) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(is_running(child) for child in children)


def test_ctrl_c_while_workers_start_ends_them_without_a_word(archive: Path) -> None:
    """A terminal sends it to the whole group; the workers are still importing."""
    command = ["analyze", str(archive), "--workers", "2", "--format", "csv"]
    command += ["--output", str(archive.parent / "interrupted")]
    with subprocess.Popen(
        [sys.executable, "-m", "rankotom_edge", *command],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as program:
        end = time.monotonic() + PATIENCE
        while len(children_of(program.pid)) < 3 and time.monotonic() < end:
            time.sleep(0.01)
        os.killpg(program.pid, signal.SIGINT)
        _, errors = program.communicate(timeout=PATIENCE)
    assert program.returncode == 130
    assert re.fullmatch(r"note: \d+ of 21 videos are done; the same command goes on\n", errors)


def children_of(process: int) -> list[int]:
    path = Path(f"/proc/{process}/task/{process}/children")
    if not path.exists():
        pytest.skip("this system does not list the children of a process")
    return [int(child) for child in path.read_text().split()]


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z" and os.path.exists(f"/proc/{process}")
