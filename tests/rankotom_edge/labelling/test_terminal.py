"""Labelling in a real terminal: real keys, a kill in the middle, and a rater who comes back."""

from __future__ import annotations

import io
import os
import pty
import shlex
import signal
import time
import tty
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from rankotom_edge.labelling.label_file import Label, read_labels
from rankotom_edge.labelling.labelling import Labelling
from rankotom_edge.labelling.terminal import PAUSE, label_in_terminal

PATIENCE = 30.0


class Rater:
    """Somebody at a terminal."""

    def __init__(self, open_tmux: Callable[..., Any], program: list[str], path: Path) -> None:
        self._open_tmux, self._program, self.path = open_tmux, program, path

    def start(self, size: tuple[int, int] = (100, 30), name: str = "Anna", count: int = 6) -> Any:
        words = [*self._program, str(self.path), name, str(count)]
        # So that a test knows what to kill: the shell becomes the program.
        run = f"sh -c {shlex.quote(f'echo $$ > {self.path}.pid; exec {shlex.join(words)}')}"
        self.tmux = self._open_tmux(run, *size)
        self.tmux.wait_for("finish for now")
        return self.tmux

    def press(self, key: str, done: int) -> None:
        """Presses it as soon as it counts, and waits until so many faces are done."""
        time.sleep(1.5 * PAUSE)
        self.tmux.press(key)
        self.tmux.wait_for(f"{done} of ")

    def wait_for_labels(self, count: int) -> None:
        end = time.monotonic() + 30
        while len(self.labels) < count and time.monotonic() < end:
            time.sleep(0.05)

    @property
    def process(self) -> int:
        return int(Path(f"{self.path}.pid").read_text())

    @property
    def labels(self) -> list[str | None]:
        return [label.expression for label in read_labels(self.path)]


@pytest.fixture
def rater(open_tmux: Callable[..., Any], program: list[str], tmp_path: Path) -> Rater:
    return Rater(open_tmux, program, tmp_path / "labels.jsonl")


@pytest.mark.parametrize("size", [(60, 20), (100, 30)])
def test_a_page_has_the_face_the_keys_the_progress_and_nothing_of_the_model(
    rater: Rater, size: tuple[int, int]
) -> None:
    lines = rater.start(size).wait_for("0 of 6 faces, 6 to go; enough to begin from 5")
    page = "\n".join(lines)
    for number, name in enumerate(EMOTIONS, start=1):
        assert f"{number} ● {name}" in page
    assert all(words in page for words in ("can't tell", "back", "finish for now", "Anna"))
    picture = [line for line in lines if "▀" in line]
    assert len(picture) >= size[1] - 4
    assert max(line.count("▀") for line in picture) >= 1.8 * (size[1] - 4)
    assert max(len(line) for line in lines) <= size[0]
    assert not any(words in page for words in ("%", "12345", "ferplus", "confiden", "made/"))


def test_keys_label_go_back_and_finish_and_each_label_is_in_the_file_at_once(rater: Rater) -> None:
    tmux = rater.start()
    for done, (key, expression) in enumerate(
        [("2", "happiness"), ("0", None), ("8", "contempt"), ("?", None)], start=1
    ):
        rater.press(key, done)
        assert rater.labels[-1] == expression
    assert len(rater.labels) == 4
    for key in ("b", "BSpace"):
        tmux.press(key)
    tmux.wait_for("contempt yours")
    rater.press("4", 4)
    rater.wait_for_labels(5)
    assert rater.labels[4:] == ["sadness"]
    tmux.press("q")
    lines = tmux.wait_for("Nothing is lost", "went on", "icanon")
    assert " echo " in " ".join(lines)
    assert "surprise" not in " ".join(lines)  # the page is gone


def test_after_the_last_face_it_waits_for_enter_and_markup_in_a_name_is_no_markup(
    rater: Rater,
) -> None:
    tmux = rater.start(count=2, name="[bold]Bo[/]")
    rater.press("1", 1)
    rater.press("2", 2)
    tmux.wait_for("All 2 faces have an answer. Thank you, [bold]Bo[/].", "Enter  done")
    tmux.press("b")
    tmux.wait_for("happiness yours")
    rater.press("3", 2)
    tmux.press("Enter")
    tmux.wait_for("All 2 faces have an answer.", "went on")
    assert rater.labels == ["neutral", "happiness", "surprise"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_kill_loses_nothing_and_the_rater_goes_on_with_the_next_face(
    rater: Rater, number: int
) -> None:
    rater.start()
    for done, key in enumerate("241", start=1):
        rater.press(key, done)
    os.kill(rater.process, number)
    rater.tmux.wait_for("icanon")
    before: tuple[Label, ...] = read_labels(rater.path)
    assert [label.expression for label in before] == ["happiness", "sadness", "neutral"]
    rater.start().wait_for("3 of 6 faces, 3 to go")
    rater.press("5", 4)
    after = read_labels(rater.path)
    assert after[:3] == before
    assert after[3].face not in {label.face for label in before}
    rater.tmux.press("b")
    rater.tmux.wait_for("anger yours", "back (neutral)")


def test_ctrl_c_ends_it_says_that_nothing_is_lost_and_gives_the_terminal_back(
    rater: Rater,
) -> None:
    tmux = rater.start()
    rater.press("7", 1)
    tmux.press("C-c")
    lines = tmux.wait_for("1 of 6 faces, 5 to go", "Nothing is lost", "icanon")
    assert "went on" not in "\n".join(lines)
    assert rater.labels == ["fear"]


def test_it_follows_the_size_of_the_terminal(rater: Rater) -> None:
    tmux = rater.start()
    tmux.run("resize-window", "-x", "50", "-y", "14")
    tmux.wait_for("too small", "60x20", lines=14)
    tmux.run("resize-window", "-x", "120", "-y", "40")
    end = time.monotonic() + PATIENCE
    while sum("▀" in line for line in tmux.lines()) < 36:
        assert time.monotonic() < end, "the picture did not grow"
        time.sleep(0.05)
    tmux.wait_for("0 of 6 faces", "8 ● contempt", lines=40)


@dataclass
class Clock:
    """Moves on by ``step`` seconds at each look."""

    step: float
    now: float = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def type_into(labelling: Labelling, keys: bytes, size: tuple[int, int], step: float = 1.0) -> None:
    ours, theirs = pty.openpty()
    console = Console(
        file=io.TextIOWrapper(io.BytesIO(), encoding="utf-8"),
        force_terminal=True,
        color_system="truecolor",
        width=size[0],
        height=size[1],
    )
    with os.fdopen(theirs, "r") as file:
        tty.setcbreak(file)  # or the pty would turn them into a line
        os.write(ours, keys)
        label_in_terminal(labelling, console=console, keys=file, clock=Clock(step))
    os.close(ours)


@pytest.mark.parametrize(("step", "done"), [(0.9 * PAUSE, 1), (1.1 * PAUSE, 9)])
def test_a_held_key_labels_no_face_that_nobody_has_looked_at(
    faces: Callable[..., Any], step: float, done: int
) -> None:
    labelling = Labelling(faces(20), EMOTIONS, "Anna", given={}, keep=lambda face, said: None)
    type_into(labelling, b"2" * 9 + b"q", (100, 30), step)
    assert labelling.progress.done == done


@pytest.mark.parametrize(("size", "done"), [((59, 20), 0), ((60, 19), 0), ((60, 20), 1)])
def test_a_face_that_does_not_fit_gets_no_answer(
    faces: Callable[..., Any], size: tuple[int, int], done: int
) -> None:
    labelling = Labelling(faces(2), EMOTIONS, "Anna", given={}, keep=lambda face, said: None)
    type_into(labelling, b"2q", size)
    assert labelling.progress.done == done
    assert labelling.finished


@pytest.mark.parametrize(
    ("settings", "keyboard"),
    [
        ({"force_terminal": False}, True),
        ({"color_system": "standard"}, True),
        ({"color_system": None}, True),
        ({}, False),
    ],
)
def test_without_a_keyboard_or_a_terminal_that_shows_pictures_it_says_what_to_do(
    faces: Callable[..., Any], settings: dict[str, Any], keyboard: bool
) -> None:
    labelling = Labelling(faces(1), EMOTIONS, "Anna", given={}, keep=lambda face, said: None)
    truecolor = {"force_terminal": True, "color_system": "truecolor"}
    console = Console(file=io.StringIO(), **{**truecolor, **settings})
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as terminal:
        keys = terminal if keyboard else io.StringIO()
        with pytest.raises(RankotomError, match="Label in the browser instead"):
            label_in_terminal(labelling, console=console, keys=keys)
    os.close(ours)


def test_it_writes_nothing_but_the_label_file_and_syncs_each_label(
    open_tmux: Callable[..., Any], program: list[str], tmp_path: Path, watch: Any
) -> None:
    path = tmp_path / "labels.jsonl"
    traced = watch.over("openat,open,creat,rename,mkdir,fsync,socket")
    tmux = open_tmux(shlex.join([*traced, *program, str(path), "Anna", "3"]), 100, 30)
    tmux.wait_for("finish for now")
    for done, key in enumerate("24", start=1):
        time.sleep(1.5 * PAUSE)
        tmux.press(key)
        tmux.wait_for(f"{done} of 3")
    tmux.press("q")
    tmux.wait_for("went on")
    calls = [call.partition(" ")[2].strip() for call in watch.calls]
    assert sum(call.startswith("fsync(") for call in calls) == 2
    writing = [call for call in calls if "O_WRONLY" in call or "O_RDWR" in call]
    others = [call for call in writing if str(path) not in call and "/dev/" not in call]
    assert [call for call in others if "__pycache__" not in call] == []
    assert not [call for call in calls if call.startswith("socket(")]
