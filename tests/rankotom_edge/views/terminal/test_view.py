"""The terminal view in a real terminal: tmux, 80 columns and 24 lines."""

from __future__ import annotations

import io
import re
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.views.terminal.view import REFRESH_SECONDS, TerminalView

ROOT = Path(__file__).parents[4]
PATIENCE = 30.0

PROGRAM = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from conftest import Showing
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.views.controls import Controls, toggle
from rankotom_edge.views.terminal.view import TerminalView

showing, controls, last = Showing(), Controls(), None
latest = showing.frame_readings(showing.reading(happiness=0.83))
try:
    with TerminalView(load_artifact("ferplus-fp32").card) as view:
        while last != "q":
            view.show(showing.display(latest, controls))
            while (key := view.key()) is not None:
                controls, last = toggle(controls, key), key
                if key == "x":
                    raise RuntimeError("on purpose")
            time.sleep(0.02)
except KeyboardInterrupt:
    print("interrupted")
print("left by", last)
"""


class Tmux:
    """A terminal of 80 columns and 24 lines that runs the program."""

    def __init__(self, folder: Path) -> None:
        self._command = ["tmux", "-L", f"rankotom-{uuid.uuid4().hex[:8]}", "-f", "/dev/null"]
        program = folder / "program.py"
        program.write_text(PROGRAM)
        place = f"cd {shlex.quote(str(ROOT))}"
        # Some shells export the size they started with.
        settings = "COLUMNS=80 LINES=24 PYTHONPATH=.:$PYTHONPATH"
        run = f"{settings} {sys.executable} {shlex.quote(str(program))}"
        self.run("new-session", "-d", "-x", "80", "-y", "24", f"{place}; {run}; stty -a; sleep 60")

    def run(self, *command: str) -> str:
        done = subprocess.run([*self._command, *command], capture_output=True, text=True)
        return done.stdout

    def lines(self) -> list[str]:
        return self.run("capture-pane", "-p").splitlines()

    def wait_for(self, *words: str, lines: int = 24) -> list[str]:
        """The screen, once it has this many lines and all these words."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            shown = self.lines()
            page = "\n".join(shown)
            if len(shown) == lines and all(word in page for word in words):
                return shown
            time.sleep(0.05)
        raise AssertionError(f"no {words!r} in:\n" + "\n".join(self.lines()))

    def press(self, *keys: str) -> None:
        self.run("send-keys", *keys)


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    terminal = Tmux(tmp_path)
    yield terminal
    terminal.run("kill-server")


def assert_restored(lines: list[str]) -> None:
    """Echo and line editing are on again, and the view's page is gone."""
    state = " ".join(lines)
    assert " echo " in state
    assert "-icanon" not in state
    assert "contempt" not in state


def test_it_shows_bars_takes_keys_and_gives_the_terminal_back(tmux: Tmux) -> None:
    page = tmux.wait_for("contempt", "camera 0")
    assert "83 %" in page[1]
    assert "camera 0" in page[23]
    tmux.press("m")
    tmux.wait_for("ECE")
    tmux.press("m", "h")
    tmux.wait_for("quit (or Esc)")
    tmux.press("Up", "h", "p")
    assert any("▀" in line for line in tmux.wait_for("▀"))
    tmux.press("q")
    tmux.wait_for("left by q", "icanon")
    assert_restored(tmux.lines())


def test_it_follows_the_size_of_the_terminal(tmux: Tmux) -> None:
    tmux.wait_for("contempt", "h help")
    tmux.run("resize-window", "-x", "50", "-y", "14")
    end = time.monotonic() + PATIENCE
    lines: list[str] = []
    while time.monotonic() < end and not (lines and lines[-1].endswith("h help")):
        lines = tmux.wait_for("contempt", "h help", lines=14)
    assert lines[1].endswith("83 %")
    assert {len(line) for line in (lines[1], lines[-1])} == {49}


@pytest.mark.parametrize(("key", "words"), [("C-c", "interrupted"), ("x", "on purpose")])
def test_it_gives_the_terminal_back_after_an_interrupt_and_an_error(
    tmux: Tmux, key: str, words: str
) -> None:
    tmux.wait_for("contempt", "h help")
    tmux.press(key)
    lines = tmux.wait_for(words)
    tmux.wait_for("icanon")
    assert_restored(tmux.lines())
    assert any(words in line for line in lines)


def test_it_draws_no_more_often_than_can_be_read(showing: Any, model: MeasuredModel) -> None:
    now = 0.0
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80, height=24)
    view = TerminalView(model, console=console, keys=io.StringIO(), clock=lambda: now)
    latest = showing.frame_readings(showing.reading(happiness=0.83))
    with view:
        drawn = 0
        for _ in range(300):  # a second of a fast camera
            before = file.tell()
            view.show(showing.display(latest))
            drawn += file.tell() > before
            now += 1 / 300
    assert drawn == pytest.approx(1 / REFRESH_SECONDS, abs=1)


def test_without_a_terminal_to_read_there_are_no_keys(model: MeasuredModel) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80, height=24)
    with TerminalView(model, console=console, keys=io.StringIO("q")) as view:
        assert view.key() is None


def test_it_remembers_who_is_shown(showing: Any, model: MeasuredModel) -> None:
    now = 0.0
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system=None, width=30, height=4)
    view = TerminalView(model, console=console, keys=io.StringIO(), clock=lambda: now)
    readings = [showing.reading(track, happiness=0.83) for track in range(1, 6)]
    x, y, _, _ = readings[0].face.box
    came_near = replace(readings[0], face=replace(readings[0].face, box=(x, y, 200, 200)))
    with view:
        for first in (readings[0], came_near, readings[0]):
            file.seek(0)
            file.truncate()
            view.show(showing.display(showing.frame_readings(first, *readings[1:])))
            assert re.findall(r"(\d) happiness", file.getvalue()) == ["4", "5"]
            now += REFRESH_SECONDS
