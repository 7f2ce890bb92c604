"""The live view in a terminal, also over SSH: bars in text, keys without Enter."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TextIO

from rich.console import Console
from rich.live import Live

from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.views.display import Display
from rankotom_edge.views.terminal.keyboard import Keyboard
from rankotom_edge.views.terminal.page import render

REFRESH_SECONDS = 1 / 12  # by eye: nobody reads faster, and a slow connection could not follow
COLOURS_FOR_PICTURES = ("truecolor", "256")


def screen_console() -> Console:
    """Without COLUMNS and LINES: if a shell exports them, rich would not notice a resize."""
    fixed = ("COLUMNS", "LINES")
    environment = {name: os.environ[name] for name in os.environ if name not in fixed}
    return Console(_environ=environment, markup=False, emoji=False)  # a name may look like markup


def shows_pictures(console: Console) -> bool:
    enough = console.color_system in COLOURS_FOR_PICTURES
    return enough and not console.options.ascii_only


class TerminalView:
    """Takes the whole screen while it is entered, and restores it on every kind of exit."""

    closed = False
    shows_faces = True
    interactive = True

    def __init__(
        self,
        model: MeasuredModel,
        *,
        picture: bool = False,
        console: Console | None = None,
        keys: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``keys``: the stream to read them from; standard input by default."""
        self._reliability = Reliability(model.evaluation)
        self._picture = picture
        self._console = screen_console() if console is None else console
        self._keyboard = Keyboard(keys)
        self._live = Live(console=self._console, screen=True, auto_refresh=False)
        self._clock = clock
        self._next = float("-inf")
        self._on_exit = ExitStack()

    def show(self, display: Display) -> None:
        """Does nothing if the last page is newer than ``REFRESH_SECONDS``."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + REFRESH_SECONDS
        width, height = self._console.size
        page = render(
            display,
            self._reliability,
            (width, height),
            picture=self._picture,
            colours=shows_pictures(self._console),
        )
        self._live.update(page, refresh=True)

    def key(self) -> str | None:
        """``p`` toggles the picture here; it is not passed on."""
        while (key := self._keyboard.key()) == "p":
            self._picture = not self._picture
        return key

    def __enter__(self) -> TerminalView:
        with ExitStack() as stack:
            stack.enter_context(self._keyboard)
            stack.enter_context(self._live)
            self._on_exit = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._on_exit.close()
