"""The queue between a source's reading thread and the loop."""

import threading
from collections import deque

from calib.errors import RankotomError
from rankotom_edge.frame import Frame

POLL_SECONDS = 1.0  # between two checks whether the program still runs


def program_has_ended() -> bool:
    """True if the program ended without closing its source: a reading thread must end too."""
    return not threading.main_thread().is_alive()


class FrameQueue:
    """One thread puts, one gets, and either may end it.

    ``keep_newest``: a full queue drops its oldest frame; otherwise ``put`` waits for room. It waits
    until the queue is almost empty, then fills it in one go: every switch between the two threads
    costs both of them time, since they share one interpreter lock.
    """

    def __init__(self, size: int, *, keep_newest: bool) -> None:
        self.dropped = 0
        self._size = size
        self._keep_newest = keep_newest
        self._frames: deque[Frame] = deque()
        self._changed = threading.Condition()
        self._finished = False  # by the putting thread
        self._closed = False  # by the getting thread
        self._error: RankotomError | None = None
        self._error_raised = True  # in the getting thread; also True if there is no error

    def put(self, frame: Frame) -> bool:
        """False if the queue was closed."""
        with self._changed:
            if self._keep_newest and len(self._frames) == self._size:
                self._frames.popleft()
                self.dropped += 1
            if len(self._frames) == self._size:
                while not self._changed.wait_for(self._has_room, POLL_SECONDS):
                    self._closed = program_has_ended()
            if not self._closed:
                self._frames.append(frame)
                self._changed.notify_all()
            return not self._closed

    def get(self, timeout: float) -> Frame | None:
        with self._changed:
            self._changed.wait_for(self._has_answer, timeout)
            if self._closed:
                return None
            if not self._frames:
                self._error_raised = True
                if self._error is not None:
                    raise self._error
                return None
            frame = self._frames.popleft()
            if self._has_room():
                self._changed.notify_all()
            return frame

    def wait_for_first(self) -> None:
        """Return when a frame is there; raise the error that prevented it."""
        with self._changed:
            self._changed.wait_for(self._has_answer)
            if self._error is not None and not self._frames:
                self._error_raised = True
                raise self._error

    def finish(self, error: RankotomError | None = None) -> None:
        """No more frames will be put; ``error`` is raised after the last one."""
        with self._changed:
            self._finished = True
            if error is not None and self._error is None:
                self._error, self._error_raised = error, False
            self._changed.notify_all()

    def close(self) -> None:
        """No more frames will be taken."""
        with self._changed:
            self._closed = True
            self._frames.clear()
            self._changed.notify_all()

    @property
    def exhausted(self) -> bool:
        with self._changed:
            return self._closed or (self._finished and not self._frames and self._error_raised)

    def _has_room(self) -> bool:
        return self._closed or len(self._frames) <= self._size // 4

    def _has_answer(self) -> bool:
        return self._closed or self._finished or bool(self._frames)
