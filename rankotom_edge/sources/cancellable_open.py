"""A capture that takes long to open, and whoever need not wait for it to the end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import cv2

LOOK_ROUND = 0.1  # seconds between two looks at whether it is still wanted
# A thread that wakes up inside OpenCV while Python shuts down, which takes some 0.3 s, aborts the
# process. So nobody goes before a server that is there has answered (GRACE), nor just before the
# time limit wakes it (NEAR); other wakings are rare.
GRACE, NEAR, LATE = 1.0, 2.0, 0.5  # seconds; by LATE at most the limit is overrun


class Opening:
    """Opens in a thread that does not keep the program alive; ``seconds``: its time limit."""

    def __init__(self, open_capture: Callable[[], cv2.VideoCapture], seconds: float) -> None:
        self._open_capture = open_capture
        self._limit = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._given_up = False
        self._capture: cv2.VideoCapture | None = None
        self._error: Exception | None = None
        threading.Thread(target=self._open, name="opening", daemon=True).start()

    def result(self, wanted: Callable[[], bool]) -> cv2.VideoCapture:
        """What was opened; once it is not ``wanted``, soon one that is not open."""
        while not self._done.wait(LOOK_ROUND):
            if not wanted() and not self._done.wait(self._grace()):
                break
        with self._lock:
            self._given_up = True
            if self._error is not None:
                raise self._error
            return cv2.VideoCapture() if self._capture is None else self._capture

    def _grace(self) -> float:
        left = self._limit - time.monotonic()
        return max(GRACE, left + LATE) if left < NEAR else GRACE

    def _open(self) -> None:
        try:
            capture = self._open_capture()
        except (cv2.error, MemoryError) as error:
            self._error = error
        else:
            with self._lock:
                if self._given_up:
                    capture.release()
                else:
                    self._capture = capture
        self._done.set()
