"""Labels faces in a terminal, also over SSH."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from rich.console import Console
from rich.live import Live

from calib.errors import RankotomError
from rankotom_edge import interrupts
from rankotom_edge.labelling.labelling import Labelling, print_summary
from rankotom_edge.labelling.terminal_page import fits, render
from rankotom_edge.views.terminal.keyboard import Keyboard
from rankotom_edge.views.terminal.view import screen_console, shows_pictures

WAIT = 0.02  # seconds between looks at the keyboard; chosen by eye
# A key that is held down repeats some 30 times a second, and nobody reads a face in this time.
# Seconds, chosen by eye.
PAUSE = 0.2


def label_in_terminal(
    labelling: Labelling,
    *,
    console: Console | None = None,
    keys: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Returns when the rater has finished, for now or altogether. Takes the whole screen
    meanwhile. ``keys``: the stream to read them from; standard input by default."""
    console = screen_console() if console is None else console
    keys = sys.stdin if keys is None else keys
    check_terminal(console, keys)
    try:
        with (
            Keyboard(keys) as keyboard,
            Live(console=console, screen=True, auto_refresh=False) as live,
        ):
            _ask(labelling, keyboard, live, clock)
    finally:
        print_summary(labelling)


def check_terminal(console: Console, keys: TextIO | None) -> None:
    """Also before faces are gathered, which takes minutes. No keys: standard input is closed."""
    has_keyboard = keys is not None and keys.isatty()
    if not console.is_terminal or not shows_pictures(console) or not has_keyboard:
        raise RankotomError(
            "There is no terminal here to label in: it needs a keyboard, UTF-8 and 256 colours. "
            "Label in the browser instead: --view web"
        )


def _ask(labelling: Labelling, keyboard: Keyboard, live: Live, clock: Callable[[], float]) -> None:
    shown: object = None
    last_answer = float("-inf")
    while not labelling.finished:
        interrupts.check()
        size = (live.console.size.width, live.console.size.height)
        wanted = (labelling.number, labelling.progress, size)
        if wanted != shown:
            live.update(render(labelling, size), refresh=True)
            shown = wanted
        key = keyboard.key()
        if key is None:
            time.sleep(WAIT)
            continue
        if key in labelling.answers:
            before, last_answer = last_answer, clock()
            if last_answer - before < PAUSE or not fits(size):
                continue
        labelling.press(key)
