"""Between the live loop and the browsers: keeps the newest display, so that neither waits.

The loop's thread puts a display and goes on. The server's thread takes the newest one whenever a
client is ready, so a slow or vanished client costs neither time nor memory.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from rankotom_edge.views.display import Display
from rankotom_edge.views.web.connections import Role

# Chosen by eye; the page opens two: numbers and pictures. So many are kept for the owner.
MAX_STREAMS, OWNERS_STREAMS = 64, 16


@dataclass(frozen=True, eq=False)
class Update:
    """A display on its way to the browsers."""

    number: int  # from 1
    display: Display
    shown_at: float
    frame_at: float | None  # when its frame was new; None before the first
    frames: int = 0  # shown so far


class StreamCounts:
    """What all clients of one kind got together, for the metrics."""

    def __init__(self, name: str) -> None:
        self.name, self.sent, self.dropped, self._clients = name, 0, 0, 0

    @property
    def connected(self) -> bool:
        return self._clients > 0

    def add(self, missed: int) -> None:
        """A frame was sent, and so many before it were not."""
        self.sent += 1
        self.dropped += missed

    @contextmanager
    def client(self) -> Iterator[None]:
        """Counts a client while it is there."""
        self._clients += 1
        try:
            yield
        finally:
            self._clients -= 1


class Relay:
    def __init__(self) -> None:
        self.newest: Update | None = None
        self.streams = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: set[asyncio.Future[None]] = set()

    def put(self, display: Display, now: float) -> None:
        """Called in the loop's thread."""
        before = self.newest
        frame_at, frames = (None, 0) if before is None else (before.frame_at, before.frames)
        latest = display.latest
        if latest is not None and (before is None or latest is not before.display.latest):
            frame_at, frames = now, frames + 1
        number = 1 if before is None else before.number + 1
        self.newest = Update(number, display, now, frame_at, frames)
        if self._waiting and self._loop is not None:
            with suppress(RuntimeError):  # the server's event loop has just ended
                self._loop.call_soon_threadsafe(self._wake)

    async def wait_for_newer(self, seen: int, timeout: float) -> Update | None:
        """The newest update, as soon as its number is above ``seen``; after ``timeout`` seconds
        whatever there is."""
        self._loop = asyncio.get_running_loop()
        woken: asyncio.Future[None] = self._loop.create_future()
        self._waiting.add(woken)
        try:
            # Checked only now: whatever is put from here on wakes us.
            if self.newest is None or self.newest.number <= seen:
                await asyncio.wait([woken], timeout=timeout)
        finally:
            self._waiting.discard(woken)
        return self.newest

    def _wake(self) -> None:
        for woken in self._waiting:
            if not woken.done():
                woken.set_result(None)

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Counts a stream while it is open."""
        self.streams += 1
        try:
            yield
        finally:
            self.streams -= 1

    def is_full(self, role: Role) -> bool:
        kept = OWNERS_STREAMS if role == "viewer" else 0
        return self.streams >= MAX_STREAMS - kept
