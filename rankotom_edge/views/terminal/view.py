"""The live view in a terminal, also over SSH: bars in text, keys without Enter."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.live import Live

from rankotom_edge.model.reliability import Reliability
from rankotom_edge.views.terminal.keyboard import Keyboard
from rankotom_edge.views.terminal.page import Standing, render, stand

if TYPE_CHECKING:
    from rankotom_edge.model.card import MeasuredModel
    from rankotom_edge.views.display import Display

REFRESH_SECONDS = 1 / 12  # faster can't be read, and a slow line could not follow
COLOURS_FOR_PICTURES = ("truecolor", "256")


def _console() -> Console:
    """With the size that the terminal has now: where a shell exports COLUMNS and LINES, rich would
    believe them for ever."""
    fixed = ("COLUMNS", "LINES")
    return Console(_environ={name: os.environ[name] for name in os.environ if name not in fixed})


class TerminalView:
    """Takes the whole screen while it is entered, and gives it back however it is left."""

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
        """``keys``: where they are read from, if not from standard input."""
        self._reliability = Reliability(model.evaluation)
        self._picture = picture
        self._console = _console() if console is None else console
        self._keyboard = Keyboard(keys)
        self._live = Live(console=self._console, screen=True, auto_refresh=False)
        self._clock = clock
        self._next = float("-inf")
        self._standing: Standing = {}
        self._leaving = ExitStack()

    def show(self, display: Display) -> None:
        """At most ``REFRESH_SECONDS`` after the last page it does nothing."""
        now = self._clock()
        if now < self._next:
            return
        self._next = now + REFRESH_SECONDS
        self._standing = stand(display.latest, self._standing)
        width, height = self._console.size
        page = render(
            display,
            self._reliability,
            (width, height),
            standing=self._standing,
            picture=self._picture,
            colours=self._has_colours(),
        )
        self._live.update(page, refresh=True)

    def key(self) -> str | None:
        """The view's own key, for the picture, is not passed on."""
        while (key := self._keyboard.key()) == "p":
            self._picture = not self._picture
        return key

    def _has_colours(self) -> bool:
        enough = self._console.color_system in COLOURS_FOR_PICTURES
        return enough and not self._console.options.ascii_only

    def __enter__(self) -> TerminalView:
        with ExitStack() as entered:
            entered.enter_context(self._keyboard)
            entered.enter_context(self._live)
            self._leaving = entered.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leaving.close()
