"""The terminal view in a real terminal: tmux, 80 columns and 24 lines."""

from __future__ import annotations

import io
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.views.terminal.view import REFRESH_SECONDS, TerminalView

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


@pytest.fixture
def tmux(open_tmux: Callable[..., Any], tmp_path: Path) -> Any:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    return open_tmux(f"{sys.executable} {shlex.quote(str(program))}", 80, 24)


def assert_restored(lines: list[str]) -> None:
    """Echo and line editing are on again, and the view's page is gone."""
    state = " ".join(lines)
    assert " echo " in state
    assert "-icanon" not in state
    assert "contempt" not in state


def test_it_shows_bars_takes_keys_and_gives_the_terminal_back(tmux: Any) -> None:
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


def test_it_follows_the_size_of_the_terminal(tmux: Any) -> None:
    tmux.wait_for("contempt", "h help")
    tmux.run("resize-window", "-x", "50", "-y", "14")
    end, ends = time.monotonic() + PATIENCE, ["", ""]
    while time.monotonic() < end and ends != ["83 %", "help"]:
        lines = tmux.wait_for("contempt", "h help", lines=14)
        ends = [line[45:] for line in (lines[1], lines[-1])]
    assert ends == ["83 %", "help"]


@pytest.mark.parametrize(("key", "words"), [("C-c", "interrupted"), ("x", "on purpose")])
def test_it_gives_the_terminal_back_after_an_interrupt_and_an_error(
    tmux: Any, key: str, words: str
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
