"""A stream to another program: a bounded queue and a thread, so that no receiver slows the loop."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from rankotom_edge.closing import Closing
from rankotom_edge.frame import Image
from rankotom_edge.readings.drift_monitor import DriftStatus
from rankotom_edge.readings.frame_readings import FrameReadings

# Chosen by eye. Frames that wait for a receiver: two seconds of a camera.
QUEUE = 64
IDLE_SECONDS = 1.0  # without a frame after which the receiver is asked for what is due
CLOSE_SECONDS = 2.0  # for what still waits when the run ends
JOIN_SECONDS = CLOSE_SECONDS + 3.0  # after which a blocked receiver is left behind
NO_PICTURE: Image = np.zeros((0, 0, 3), np.uint8)


class NotSentError(Exception):
    """A receiver cannot take a frame now: it is not connected, or does not read."""


@dataclass(frozen=True, eq=False)
class Outgoing:
    """What goes out for one frame: a queue of pictures would fill the memory, so they stay here."""

    latest: FrameReadings  # its frame has no picture
    size: tuple[int, int]  # width and height of the picture
    drift: DriftStatus | None  # None where no monitor watches

    @classmethod
    def of(cls, latest: FrameReadings, drift: DriftStatus | None = None) -> Outgoing:
        frame = latest.frame
        height, width = frame.image.shape[:2]
        return cls(replace(latest, frame=replace(frame, image=NO_PICTURE)), (width, height), drift)


class Receiver(Protocol):
    """The far end of a stream. All three run in the stream's thread, and may block."""

    name: str  # as in the option and in /metrics: "mqtt"

    @property
    def connected(self) -> bool | None:
        """None where the protocol cannot know."""

    def send(self, outgoing: Outgoing) -> None:
        """Raises ``NotSentError`` if the frame is lost."""

    def idle(self) -> None:
        """Called about once a second while no frame comes."""

    def close(self) -> None: ...


class Stream(Closing):
    """A sink of the loop. If its queue is full the oldest frame is dropped: the newest counts."""

    def __init__(
        self, receiver: Receiver, drift: Callable[[], DriftStatus | None] = lambda: None
    ) -> None:
        self.name, self.sent, self.dropped = receiver.name, 0, 0
        self._receiver, self._drift = receiver, drift
        self._queue: deque[Outgoing] = deque()
        self._changed = threading.Condition()
        self._ends: float | None = None
        self._thread = threading.Thread(target=self._run, name=receiver.name, daemon=True)
        self._thread.start()

    @property
    def connected(self) -> bool | None:
        return self._receiver.connected

    @property
    def words(self) -> str:
        dropped = f", {self.dropped:,} dropped" if self.dropped else ""
        return f"{self.name}: {self.sent:,} {'frame' if self.sent == 1 else 'frames'} sent{dropped}"

    def write(self, latest: FrameReadings) -> None:
        """Called in the loop's thread."""
        outgoing = Outgoing.of(latest, self._drift())
        with self._changed:
            if len(self._queue) == QUEUE:
                self._queue.popleft()
                self.dropped += 1
            self._queue.append(outgoing)
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._ends = time.monotonic() + CLOSE_SECONDS
            self._changed.notify()
        self._thread.join(JOIN_SECONDS)

    def _run(self) -> None:
        while not self._over():
            outgoing = self._next()
            if outgoing is None:
                self._receiver.idle()
                continue
            try:
                self._receiver.send(outgoing)
            except NotSentError:
                self._count_dropped(1)
            else:
                self.sent += 1
        self._count_dropped(len(self._queue))
        self._receiver.close()

    def _over(self) -> bool:
        return self._ends is not None and (not self._queue or time.monotonic() > self._ends)

    def _next(self) -> Outgoing | None:
        with self._changed:
            if not self._queue and self._ends is None:
                self._changed.wait(IDLE_SECONDS)
            return self._queue.popleft() if self._queue else None

    def _count_dropped(self, frames: int) -> None:
        with self._changed:
            self.dropped += frames
