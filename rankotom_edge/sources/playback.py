"""Pictures that wait to be fetched: each in its order, decoded ahead of the loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

import cv2

from calib.errors import RankotomError
from rankotom_edge.frame import Frame, Image
from rankotom_edge.sources.frame_queue import Handover
from rankotom_edge.sources.source import Source, State

Clock = Callable[[], float]

# Pictures decoded before they are asked for: the loop seldom waits for a decoder that is quicker
# than it on average, and is seldom disturbed by one (see Handover).
AHEAD = 6  # four bytes a pixel each: 200 MB of a 4K clip
PHOTOGRAPHS_AHEAD = 2  # which may have 24 megapixels
LATE = 0.25  # seconds; less is caught up with, more was a pause and is not


@dataclass(frozen=True, eq=False)
class Picture:
    image: Image
    time: float  # seconds since the first, by the file's own count
    index: int | None = None  # from 0, where some cannot be read; None: all can


class Reel(Protocol):
    name: str
    still: bool
    photographs: bool
    fps: float | None  # known once the first picture is there
    remark: str | None  # what is wrong with it, as far as it was read

    def pictures(self) -> Generator[Picture, None, None]:
        """At least one, or RankotomError. All of it runs in one thread, which is not the loop's."""
        ...


class Pace:
    """When a picture is due. A reader who falls behind sees the rest later, not faster."""

    def __init__(self) -> None:
        self._began: float | None = None

    def due_in(self, picture_time: float, now: float) -> float:
        """Seconds until the picture of that time is due; less than 0 when it is overdue."""
        if self._began is None or now - (self._began + picture_time) > LATE:
            self._began = now - picture_time
        return self._began + picture_time - now


def explained(error: Exception, name: str) -> RankotomError:
    """What stopped a reading thread, for the person at the keyboard."""
    if isinstance(error, RankotomError):
        return error
    if isinstance(error, OSError) and error.strerror:
        return RankotomError(f"{error.filename or name} cannot be read: {error.strerror}.")
    told = str(error).strip() or type(error).__name__
    return RankotomError(f"{name} cannot be read any further: {told.splitlines()[0]}")


class ReelSource(Source):
    live = False
    dropped = 0

    def __init__(self, reel: Reel, paced: bool, clock: Clock = time.monotonic) -> None:
        self.name = reel.name
        self.still = reel.still
        self.photographs = reel.photographs
        self._reel = reel
        self._clock = clock
        self._pace = Pace() if paced else None
        self._next: Frame | None = None
        self._closing = threading.Event()
        room = PHOTOGRAPHS_AHEAD if reel.photographs else AHEAD
        self._handover = Handover(room, newest=False)
        self._thread = threading.Thread(target=self._decode, name=f"decoding {self.name}")
        self._thread.start()
        try:
            self._handover.wait_for_first()
        except BaseException:  # an interrupt as well: the thread must not keep the process alive
            self.close()
            raise
        self.fps = reel.fps

    @property
    def state(self) -> State:
        remark = f": {self._reel.remark}" if self._reel.remark else ""
        if self._next is None and self._handover.exhausted:
            return State("ended", f"ended{remark}")
        return State("playing", f"playing{remark}")

    def read(self, timeout: float) -> Frame | None:
        deadline = time.monotonic() + timeout
        if self._next is None:
            self._next = self._handover.take(timeout)
        if self._next is None:
            return None
        if self._pace is not None:
            due_in = self._pace.due_in(self._next.time, self._clock())
            left = max(0.0, deadline - time.monotonic())
            if self._closing.wait(max(0.0, min(due_in, left))) or due_in > left:
                return None
            self.late = max(0.0, -due_in)
        frame, self._next = self._next, None
        # It leaves the file now, not when it was decoded ahead: that wait is not our latency.
        frame.captured = self._clock()
        return frame

    def close(self) -> None:
        self._closing.set()
        self._handover.close()
        self._next = None
        self._thread.join()

    def _decode(self) -> None:
        try:
            with closing(self._reel.pictures()) as pictures:
                for read, picture in enumerate(pictures):
                    index = read if picture.index is None else picture.index
                    frame = Frame(picture.image, index, picture.time, captured=self._clock())
                    frame.prepare()
                    if not self._handover.give(frame):
                        return
        except (RankotomError, OSError, cv2.error, MemoryError) as error:
            self._handover.finish(explained(error, self.name))
        finally:
            self._handover.finish()
