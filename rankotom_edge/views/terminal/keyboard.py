"""Reads keys from a terminal as they are pressed, without Enter and without echo."""

from __future__ import annotations

import os
import re
import select
import sys
from collections import deque
from typing import Any, Protocol, TextIO

ESCAPE = b"\x1b"
# Esc twice, an escape sequence, Alt and a letter, or one byte.
KEY = re.compile(rb"\x1b(?=\x1b)|\x1b[\[O][^@-~]*[@-~]|\x1b[^\[O]|.", re.DOTALL)
BEGUN = re.compile(rb"\x1b(?:[\[O][^@-~]*)?$")
# Esc sends one byte, and an arrow key a sequence that starts with the same byte. The rest follows
# at once, over SSH in the same packet. Seconds, chosen by eye.
ESCAPE_WAIT = 0.03
# Terminals send either byte for backspace.
NAMES = {
    "\x1b": "esc",
    " ": "space",
    "?": "?",
    "\n": "enter",
    "\x7f": "backspace",
    "\b": "backspace",
}


def split_keys(pressed: bytes, *, complete: bool) -> tuple[list[str], bytes]:
    """The names of the keys, and the bytes that may be the start of another.

    ``complete``: no more bytes follow. Arrow keys, function keys, Alt and a letter, and letters
    beyond ASCII have no name here.
    """
    begun = BEGUN.search(pressed)
    rest = pressed[begun.start() :] if begun else b""
    names = []
    for key in KEY.findall(pressed[: len(pressed) - len(rest)]):
        character = key.decode("latin-1").lower()
        if character in NAMES:
            names.append(NAMES[character])
        elif character.isascii() and len(character) == 1 and character.isalnum():
            names.append(character)
    if complete and rest == ESCAPE:
        names.append("esc")
    return names, b"" if complete else rest


class Console(Protocol):
    """Windows' own, as in the module msvcrt."""

    def kbhit(self) -> bool: ...
    def getwch(self) -> str: ...


def read_console(console: Console) -> list[str]:
    """The keys that were pressed, without waiting. There an arrow or a function key is two
    characters, of which the first tells so, and Enter is a carriage return."""
    pressed = ""
    while console.kbhit():
        character = console.getwch()
        if character in ("\0", "\xe0"):
            console.getwch()
        else:
            pressed += "\n" if character == "\r" else character
    # Each character came whole, so an Esc is followed by no sequence.
    return [name for each in pressed for name in split_keys(each.encode(), complete=True)[0]]


class Keyboard:
    """Reads keys while it is entered, and restores the terminal on exit.

    A terminal that is gone (a closed window, a dropped connection) raises KeyboardInterrupt, even
    if no SIGHUP was sent. Without a terminal, or without standard input, there are no keys.
    """

    def __init__(self, source: TextIO | None = None) -> None:
        self._source: TextIO | None = sys.stdin if source is None else source
        self._before: list[Any] | None = None
        self._names: deque[str] = deque()

    def key(self) -> str | None:
        """The oldest key press that was not returned yet. Does not wait for one."""
        if not self._names and self._source is not None and self._before is not None:
            self._names.extend(self._read(self._source.fileno()))
        return self._names.popleft() if self._names else None

    def _read(self, number: int) -> list[str]:
        names: list[str] = []
        pending, wait = b"", 0.0
        if sys.platform == "win32":
            import msvcrt

            return read_console(msvcrt)
        while select.select([number], [], [], wait)[0]:
            more = os.read(number, 256)
            if not more:  # the terminal is gone: in this mode Ctrl-D is an ordinary key
                raise KeyboardInterrupt
            found, pending = split_keys(pending + more, complete=False)
            names += found
            if not pending:
                return names
            wait = ESCAPE_WAIT
        return names + split_keys(pending, complete=True)[0]

    def __enter__(self) -> Keyboard:
        if self._source is not None and self._source.isatty():
            if sys.platform == "win32":
                self._before = []
                return self
            import termios
            import tty

            self._before = termios.tcgetattr(self._source)
            tty.setcbreak(self._source, termios.TCSANOW)
        return self

    def __exit__(self, *error: object) -> None:
        if sys.platform == "win32" or self._source is None or self._before is None:
            return
        import termios

        before, self._before = self._before, None
        try:
            termios.tcsetattr(self._source, termios.TCSADRAIN, before)
        except termios.error:
            raise KeyboardInterrupt from None
