"""Keys from a real terminal's other end."""

from __future__ import annotations

import os
import pty
import sys
import termios
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from rankotom_edge.views.terminal.keyboard import Keyboard, read_console, split_keys


@pytest.fixture
def terminal() -> Iterator[tuple[int, TextIO]]:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as file:
        yield ours, file
    os.close(ours)


def typed(ours: int, keyboard: Keyboard, pressed: bytes) -> list[str]:
    os.write(ours, pressed)
    time.sleep(0.05)
    names = []
    while (name := keyboard.key()) is not None:
        names.append(name)
    return names


def test_keys_come_without_enter_and_in_order(terminal: tuple[int, TextIO]) -> None:
    ours, theirs = terminal
    with Keyboard(theirs) as keyboard:
        assert keyboard.key() is None
        assert typed(ours, keyboard, b"hB q") == ["h", "b", "space", "q"]


def test_keys_that_are_no_letters_have_names(terminal: tuple[int, TextIO]) -> None:
    ours, theirs = terminal
    with Keyboard(theirs) as keyboard:
        pressed = typed(ours, keyboard, b"?\n\x7f\b!\xc3\xa9")
    assert pressed == ["?", "enter", "backspace", "backspace"]


def test_esc_alone_is_a_key_and_an_arrow_is_none(terminal: tuple[int, TextIO]) -> None:
    ours, theirs = terminal
    with Keyboard(theirs) as keyboard:
        assert typed(ours, keyboard, b"\x1b") == ["esc"]
        assert typed(ours, keyboard, b"\x1b[A\x1bOP\x1b[15~") == []
        assert typed(ours, keyboard, b"\x1b[1;5Cm") == ["m"]


def test_the_terminal_is_as_it_was_also_after_an_error(terminal: tuple[int, TextIO]) -> None:
    _, theirs = terminal
    before = termios.tcgetattr(theirs)

    def fail() -> None:
        with Keyboard(theirs):
            assert termios.tcgetattr(theirs) != before
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert termios.tcgetattr(theirs) == before


def test_a_file_or_a_pipe_has_no_keys(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("qqq")
    with path.open() as file, Keyboard(file) as keyboard:
        assert keyboard.key() is None


def test_without_standard_input_there_are_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with Keyboard() as keyboard:
        assert keyboard.key() is None


class TypedInto:
    """Windows' console, with what was typed into it."""

    def __init__(self, pressed: str) -> None:
        self._pressed = list(pressed)

    def kbhit(self) -> bool:
        return bool(self._pressed)

    def getwch(self) -> str:
        return self._pressed.pop(0)


@pytest.mark.parametrize(
    ("pressed", "names"),
    [
        ("", []),
        ("hB ?", ["h", "b", "space", "?"]),
        ("\r\b\x1b", ["enter", "backspace", "esc"]),
        ("a\xe0Hq\0;z", ["a", "q", "z"]),  # with the up arrow and F1 between
        ("\x1bé", ["esc"]),
    ],
)
def test_the_console_of_windows_has_the_same_keys(pressed: str, names: list[str]) -> None:
    assert read_console(TypedInto(pressed)) == names


def lose(ours: int) -> None:
    """The number stays taken, by a file that may be closed."""
    elsewhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(elsewhere, ours)
    os.close(elsewhere)


def test_a_terminal_that_is_gone_is_like_ctrl_c(terminal: tuple[int, TextIO]) -> None:
    ours, theirs = terminal
    keyboard = Keyboard(theirs).__enter__()
    lose(ours)
    with pytest.raises(KeyboardInterrupt):
        keyboard.key()
    with pytest.raises(KeyboardInterrupt):
        keyboard.__exit__(None, None, None)


def test_what_failed_for_want_of_the_terminal_is_no_error(terminal: tuple[int, TextIO]) -> None:
    ours, theirs = terminal

    def draw() -> None:
        with Keyboard(theirs):
            lose(ours)
            os.write(theirs.fileno(), b"a page")

    with pytest.raises(KeyboardInterrupt):
        draw()


@pytest.mark.parametrize(
    ("pressed", "names", "rest"),
    [
        (b"q", ["q"], b""),
        (b"\x1b", [], b"\x1b"),
        (b"a\x1b[", ["a"], b"\x1b["),
        (b"\x1b[Bq", ["q"], b""),
        (b"\x1b\x1b[A", ["esc"], b""),
        (b"\x1bx", [], b""),  # Alt and x
        ("é/".encode(), [], b""),
    ],
)
def test_a_sequence_may_come_in_pieces(pressed: bytes, names: list[str], rest: bytes) -> None:
    assert split_keys(pressed, complete=False) == (names, rest)


def test_what_was_not_continued_is_esc() -> None:
    assert split_keys(b"\x1b", complete=True) == (["esc"], b"")


def test_an_arrow_that_a_slow_line_delivers_in_two_is_no_esc(
    terminal: tuple[int, TextIO],
) -> None:
    ours, theirs = terminal
    with Keyboard(theirs) as keyboard:
        os.write(ours, b"\x1b")
        later = threading.Timer(0.01, os.write, (ours, b"[A"))
        later.start()
        assert keyboard.key() is None
        later.join()
        assert keyboard.key() is None
