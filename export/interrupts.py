"""What would end the program goes, for a while, to a handler of our own."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interrupts_to(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """But for signals that are ignored, as under nohup. For the main thread alone, as Python has
    it."""
    before = {number: signal.getsignal(number) for number in ENDING}
    for number in ENDING:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, handler)
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
