"""Ctrl-C that is not lost: it ends everything cleanly, and SIGTERM and a lost terminal do the same.

In the middle of an import it may be lost: ONNX Runtime makes an ImportError of it, OpenCV's loader
passes over it; the program would end as if it were broken, or not at all.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_came = False


def end_like_ctrl_c() -> None:
    """But for signals that are ignored already, as under nohup."""
    global _came
    _came = False
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def end_at_once(status: int) -> None:
    """For a program that has come to its end and closed its files: an interrupt need not wait for a
    thread that still waits for its camera."""
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: os._exit(status))


def check() -> None:
    """For a loop: an interrupt that came and that somebody else's code passed over comes again."""
    if _came:
        raise KeyboardInterrupt


@contextmanager
def undisturbed() -> Iterator[None]:
    """What would end the program comes right after the block.

    By handlers of our own: to block a signal in this thread would only send it to another.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # which no signal disturbs
        return
    arrived: list[int] = []
    with interrupts_to(lambda number, _: arrived.append(number)):
        yield
    if arrived:
        signal.raise_signal(arrived[0])


@contextmanager
def interrupts_to(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """What would end the program goes, for a while, to a handler of our own; but for signals that
    are ignored, as under nohup. For the main thread alone, as Python has it."""
    before = {number: signal.getsignal(number) for number in ENDING}
    for number in ENDING:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, handler)
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _came
    _came = True
    raise KeyboardInterrupt
