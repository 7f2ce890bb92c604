"""Where a reading thread leaves frames for the loop: the newest alone, or each in its turn."""

from __future__ import annotations

import threading
from collections import deque

from calib.errors import RankotomError
from rankotom_edge.frame import Frame

LOOK_ROUND = 1.0  # seconds between two looks at whether anybody is left


def abandoned() -> bool:
    """The program has ended and left its source open: a reading thread must not keep it alive."""
    return not threading.main_thread().is_alive()


class Handover:
    """One thread gives, one takes, and either may end it; nobody waits for one who has gone.

    A giver who has filled the room is woken when it is almost empty, and fills it at one go: each
    waking takes time from both, for the two share one interpreter.
    """

    def __init__(self, room: int, *, newest: bool) -> None:
        self.dropped = 0
        self._room = room
        self._newest = newest
        self._waiting: deque[Frame] = deque()
        self._changed = threading.Condition()
        self._finished = False  # nothing more is given
        self._closed = False  # nothing more is taken
        self._error: RankotomError | None = None
        self._told = True  # the taker knows of the error, or there is none

    def give(self, frame: Frame) -> bool:
        """Leave a frame; when there is no room, wait for it, or push the oldest out where only the
        newest counts. False: nobody takes frames any more."""
        with self._changed:
            if self._newest and len(self._waiting) == self._room:
                self._waiting.popleft()
                self.dropped += 1
            if len(self._waiting) == self._room:
                while not self._changed.wait_for(self._is_almost_empty, LOOK_ROUND):
                    self._closed = abandoned()
            if not self._closed:
                self._waiting.append(frame)
                self._changed.notify_all()
            return not self._closed

    def take(self, timeout: float) -> Frame | None:
        with self._changed:
            self._changed.wait_for(self._settled, timeout)
            if self._closed:
                return None
            if not self._waiting:
                self._told = True
                if self._error is not None:
                    raise self._error
                return None
            frame = self._waiting.popleft()
            if self._is_almost_empty():
                self._changed.notify_all()
            return frame

    def wait_for_first(self) -> None:
        """Until a frame is there; raises what kept it from coming."""
        with self._changed:
            self._changed.wait_for(self._settled)
            if self._error is not None and not self._waiting:
                self._told = True
                raise self._error

    def finish(self, error: RankotomError | None = None) -> None:
        with self._changed:
            self._finished = True
            if error is not None and self._error is None:
                self._error, self._told = error, False
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._waiting.clear()
            self._changed.notify_all()

    @property
    def exhausted(self) -> bool:
        with self._changed:
            return self._closed or (self._finished and not self._waiting and self._told)

    def _is_almost_empty(self) -> bool:
        return self._closed or len(self._waiting) <= self._room // 4

    def _settled(self) -> bool:
        return self._closed or self._finished or bool(self._waiting)
