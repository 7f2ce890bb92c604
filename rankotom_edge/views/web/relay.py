"""Between the live loop and the browsers: the newest moment, and nobody who waits for anybody.

The loop's thread gives and goes on. The server's thread takes what is newest when a reader is
ready for it, so that a reader who is slow, or gone, costs neither time nor memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankotom_edge.views.display import Display

MOST_STREAMS = 64  # the page opens two: numbers and pictures


@dataclass(frozen=True, eq=False)
class Shown:
    """What the loop showed last."""

    number: int  # from 1; a gap is what nobody was ready for
    display: Display
    at: float  # when it was given
    came: float | None  # when its frame was new; None before the first


class Relay:
    def __init__(self) -> None:
        self.newest: Shown | None = None
        self.streams = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Future[None]] = set()

    def give(self, display: Display, now: float) -> None:
        """In the loop's thread."""
        before = self.newest
        came = None if before is None else before.came
        latest = display.latest
        if latest is not None and (before is None or latest is not before.display.latest):
            came = now
        number = 1 if before is None else before.number + 1
        self.newest = Shown(number, display, now, came)
        if self._waiting and self._loop is not None:
            with suppress(RuntimeError):  # the server's loop has just ended
                self._loop.call_soon_threadsafe(self._wake)

    async def newer(self, seen: int, patience: float) -> Shown | None:
        """What came after ``seen``; the newest again, or None, when nothing did in time."""
        self._loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = self._loop.create_future()
        self._waiting.add(turn)
        try:
            # Looked at after the turn is taken: what is given from here on wakes us.
            if self.newest is None or self.newest.number <= seen:
                await asyncio.wait([turn], timeout=patience)
        finally:
            self._waiting.discard(turn)
        return self.newest

    def _wake(self) -> None:
        for turn in self._waiting:
            if not turn.done():
                turn.set_result(None)

    @contextmanager
    def stream(self) -> Iterator[None]:
        self.streams += 1
        try:
            yield
        finally:
            self.streams -= 1

    @property
    def full(self) -> bool:
        return self.streams >= MOST_STREAMS
