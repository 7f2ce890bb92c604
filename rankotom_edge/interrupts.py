"""Makes Ctrl-C, SIGTERM and a closed terminal end the program cleanly.

During an import Ctrl-C can get lost: ONNX Runtime turns it into an ImportError, and OpenCV's loader
swallows it. The program would then end with a wrong error, or not at all.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

if sys.platform == "win32":  # a closed console sends what Ctrl-Break sends
    END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
else:
    END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# Seconds after an interrupt in which a further one says the same again: a person who presses twice,
# or a service manager that sends two signals, wants the files closed all the same. By eye
SAME_WISH = 2.0

_interrupted_at: float | None = None


def install_end_handlers() -> None:
    """Signals that are ignored already, as under nohup, stay ignored."""
    global _interrupted_at
    _interrupted_at = None
    for number in END_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def exit_on_next_interrupt(status: int) -> None:
    """For a program that has closed its files: a further interrupt exits without waiting for
    threads, one of which may be blocked by its camera."""
    for number in END_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: os._exit(status))


def check() -> None:
    """For a loop: raises an interrupt again that other code has swallowed."""
    if _interrupted_at is not None:
        raise KeyboardInterrupt


@contextmanager
def delay_interrupts() -> Iterator[None]:
    """Delays signals that end the program until after the block.

    With handlers of our own: a signal that this thread blocks would go to another thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python handles signals in the main thread only
        return
    received: list[int] = []
    with redirect_interrupts(lambda number, _: received.append(number)):
        yield
    if received:
        signal.raise_signal(received[0])


@contextmanager
def redirect_interrupts(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Sends signals that end the program to ``handler`` during the block; ignored ones stay
    ignored. Main thread only."""
    before = {number: signal.getsignal(number) for number in END_SIGNALS}
    for number in END_SIGNALS:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, handler)
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _interrupted_at
    now, before = time.monotonic(), _interrupted_at
    if before is None or now - before > SAME_WISH:
        _interrupted_at = now
        raise KeyboardInterrupt
