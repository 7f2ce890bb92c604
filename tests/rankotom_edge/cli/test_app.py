"""The program as a whole: version, errors, bugs, interrupts and their exit statuses."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankotom_edge import __version__


def test_without_arguments_the_help_is_shown(run: Callable[..., Any]) -> None:
    assert "Usage: rankotom-edge" in run().stdout


def test_version_is_printed(start: Callable[..., Any]) -> None:
    assert start("--version").stdout == f"rankotom-edge {__version__}\n"


def test_an_unknown_command_is_bad_usage_and_suggests_the_nearest(run: Callable[..., Any]) -> None:
    finished = run("evaluat")
    assert finished.returncode == 2
    assert "evaluate" in finished.stderr


def test_an_error_is_one_line_without_a_traceback(start: Callable[..., Any]) -> None:
    finished = start("evaluate", "nowhere.npz")
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert finished.stderr.startswith("error: ")
    assert "nowhere.npz" in finished.stderr
    assert finished.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["--debug", "evaluate", "nowhere.npz"], ["evaluate", "nowhere.npz", "--debug"]]
)
def test_debug_shows_the_traceback_wherever_it_stands(
    run: Callable[..., Any], arguments: list[str]
) -> None:
    finished = run(*arguments)
    assert finished.returncode == 2
    assert finished.stderr.startswith("Traceback")
    assert finished.stderr.splitlines()[-1].startswith("error: Cannot read nowhere.npz")


def test_a_bug_is_called_one_and_is_no_answer(
    run: Callable[..., Any], files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calib.evaluation.evaluate", lambda *_, **__: 1 / 0)
    finished = run("evaluate", str(files["good"]))
    assert finished.returncode == 70
    assert "ZeroDivisionError" in finished.stderr
    assert "bug in rankotom-edge" in finished.stderr.splitlines()[-1]


def test_an_interrupt_ends_with_130_and_no_traceback(tmp_path: Path) -> None:
    waiting = tmp_path / "waiting.csv"
    os.mkfifo(waiting)
    script = (
        "import sys, calib.prediction_files as predictions\n"
        "from rankotom_edge.cli.app import main\n"
        "def read(path):\n    print('reading', flush=True)\n    open(path).read()\n"
        "predictions.read_predictions = read\n"
        "main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, "evaluate", str(waiting)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "reading\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Traceback" not in errors
