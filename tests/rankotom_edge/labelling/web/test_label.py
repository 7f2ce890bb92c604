"""Labelling in the browser as a process: what a kill leaves, and how it ends."""

from __future__ import annotations

import http.client
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rankotom_edge.labelling.label_file import read_labels


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_kill_loses_nothing_and_the_next_run_goes_on(
    open_program: Callable[..., Any], tmp_path: Path, number: int
) -> None:
    path = tmp_path / "labels.jsonl"
    first = open_program(6)
    for key in "31":
        first.press(key)
    first.process.send_signal(number)
    output, errors = first.process.communicate(timeout=20)
    assert "went on" not in output
    assert ("Nothing is lost" in errors) == (number == signal.SIGINT)
    second = open_program(6)
    state = second.ask()
    assert (state["number"], state["said_before"]) == (2, "neutral")
    second.press("2")
    second.press("q")
    assert "went on" in second.process.communicate(timeout=20)[0]
    assert [label.expression for label in read_labels(path)] == ["surprise", "neutral", "happiness"]
    assert len({label.face for label in read_labels(path)}) == 3


def test_a_kill_in_the_middle_of_writing_leaves_whole_labels(
    open_program: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "labels.jsonl"
    first = open_program(300)
    state, killer = first.ask(), None
    with suppress(OSError, http.client.HTTPException):
        while True:
            state = first.ask(f"/{state['run']}/{state['number']}/4", "POST")
            if killer is None and state["number"] == 20:
                # A moment later, while the next labels are on their way.
                killer = subprocess.Popen(["sh", "-c", f"sleep 0.05; kill -9 {first.process.pid}"])
    assert killer is not None
    killer.wait(20)
    first.process.communicate(timeout=20)
    labels = read_labels(path)
    assert state["number"] <= len(labels) <= state["number"] + 1
    second = open_program(300)
    assert second.ask()["number"] == len(labels)
    second.press("q")
    second.process.communicate(timeout=20)


def test_it_serves_pictures_without_writing_any(
    open_program: Callable[..., Any], tmp_path: Path, watch: Any
) -> None:
    path = tmp_path / "labels.jsonl"
    traced = watch.over("openat,open,creat,rename,mkdir,fsync,connect")
    run = open_program(3, traced)
    state = run.ask()
    connection = http.client.HTTPConnection(run.place, timeout=20)
    connection.request("GET", f"/face/{state['run']}/0")
    assert connection.getresponse().read().startswith(b"\x89PNG")
    connection.close()
    run.press("2")
    run.press("q")
    run.process.communicate(timeout=30)
    calls = [call.partition(" ")[2].strip() for call in watch.calls]
    assert sum(call.startswith("fsync(") for call in calls) == 1
    writing = [call for call in calls if "O_WRONLY" in call or "O_RDWR" in call]
    allowed = (str(path), "/dev/", "__pycache__")
    assert [call for call in writing if not any(place in call for place in allowed)] == []
    assert not [call for call in calls if call.startswith("connect(")]


def test_two_raters_in_a_row_share_a_file_and_see_nothing_of_each_other(
    start: Callable[..., Any],
) -> None:
    first = start(3)
    for key in "12":
        first.press(key)
    first.end()
    second = start(3, name="Bo")
    state = second.state
    assert (state["number"], state["said_before"], state["rater"]) == (0, None, "Bo")
    second.press("5")
    second.end()
    assert [label.rater for label in read_labels(second.path)] == ["Anna", "Anna", "Bo"]
