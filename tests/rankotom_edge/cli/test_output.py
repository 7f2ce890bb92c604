"""Where reports go: terminal, pipe, JSON, picture; and what happens when they cannot."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calib.prediction_files import read_predictions
from calib.predictions import Predictions

QUICK = ["--resamples", "50"]


@pytest.mark.parametrize("arguments", [["evaluate", "{good}", "--json", "-"], ["--help"]])
def test_a_full_disk_is_an_error_of_one_line(
    files: dict[str, Path], tmp_path: Path, arguments: list[str]
) -> None:
    """No file may grow past 100 bytes here, which is as full as a disk can be in a test."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    with (tmp_path / "output").open("w") as output:
        finished = subprocess.run(
            [sys.executable, "-c", f"{limit}from rankotom_edge.cli.app import main; main()"]
            + [each.format(**files) for each in arguments],
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            # Unbuffered, Python itself takes half a write for a whole one.
            env={**os.environ, "PYTHONUNBUFFERED": ""},
            timeout=300,
            check=False,
        )
    assert finished.returncode == 2
    assert finished.stderr.startswith("error: ")
    assert finished.stderr.endswith("File too large\n")
    assert finished.stderr.count("\n") == 1


@pytest.mark.parametrize("target", [[], ["--json", "-"]])
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["evaluate", "{good}"], 0),
        (["drift", "{good}", "{near}"], 0),
        (["drift", "{good}", "{bad}"], 1),
    ],
)
def test_a_reader_that_stops_early_changes_no_answer(
    unread: Callable[..., Any],
    files: dict[str, Path],
    arguments: list[str],
    status: int,
    target: list[str],
) -> None:
    """``rankotom-edge drift … | head -1``."""
    named = [each.format(**files) for each in arguments]
    assert unread(*named, *target, *QUICK) == (status, "")


def test_help_that_is_not_read_is_no_error(unread: Callable[..., Any]) -> None:
    assert unread("--help") == (0, "")


def test_a_terminal_without_unicode_gets_the_report_all_the_same(
    start: Callable[..., Any], files: dict[str, Path]
) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    finished = start("evaluate", str(files["good"]), *QUICK, **ascii_only)
    assert finished.returncode == 0
    assert "accuracy" in finished.stdout


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("command", ["evaluate", "drift"])
def test_no_line_of_a_report_is_wider_than_the_terminal(
    run: Callable[..., Any], files: dict[str, Path], command: str, columns: int
) -> None:
    named = [str(files["good"])] + ([str(files["near"])] if command == "drift" else [])
    lines = run(command, *named, *QUICK, COLUMNS=str(columns)).stdout.splitlines()
    assert len(lines) > 30
    assert max(map(len, lines)) <= columns
    assert not any("…" in line and " … " not in line for line in lines), "text was cut off"


def test_a_pipe_gets_no_colour(start: Callable[..., Any], files: dict[str, Path]) -> None:
    assert "\x1b" not in start("evaluate", str(files["good"]), *QUICK).stdout


def test_json_and_picture_go_to_files_and_the_report_is_printed(
    run: Callable[..., Any], files: dict[str, Path], tmp_path: Path
) -> None:
    target, picture = tmp_path / "figures.json", tmp_path / "figures.png"
    arguments = ["--json", str(target), "--plot", str(picture), *QUICK]
    finished = run("evaluate", str(files["good"]), *arguments)
    assert "Reliability" in finished.stdout
    assert json.loads(target.read_text())["n"] == 400
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures.json", "figures.png"]


@pytest.mark.parametrize(
    ("option", "name", "words"),
    [
        ("--json", "missing/file.json", "there is no folder"),
        ("--json", "", "it is a folder"),
        ("--plot", "missing/file.png", "there is no folder"),
        ("--plot", "file.bmp", "ends in .pdf, .png or .svg"),
        ("--save-predictions", "missing/file.npz", "there is no folder"),
        ("--save-predictions", "file.csv", "saved as .npz"),
    ],
)
def test_an_output_that_cannot_be_written_is_an_error_before_the_work(
    run: Callable[..., Any], tmp_path: Path, option: str, name: str, words: str
) -> None:
    """The input is missing too, but that would be noticed only later."""
    commands = [["evaluate", "gone.npz"], ["drift", "gone.npz", "gone.npz"]]
    for command in commands[:1] if option == "--save-predictions" else commands:
        finished = run(*command, option, str(tmp_path / name))
        assert finished.returncode == 2
        assert words in finished.stderr


def test_the_report_is_shown_even_if_a_file_then_fails(
    run: Callable[..., Any], files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder goes while the figures are made."""
    folder = tmp_path / "reports"
    folder.mkdir()
    target = folder / "figures.json"

    def read(path: Path) -> Predictions:
        folder.rmdir()
        return read_predictions(path)

    monkeypatch.setattr("calib.prediction_files.read_predictions", read)
    finished = run("evaluate", str(files["good"]), "--json", str(target), *QUICK)
    assert finished.returncode == 2
    assert "Reliability" in finished.stdout
    assert str(folder) in finished.stderr
