"""Gives up opening a slow stream as soon as nobody wants it any more."""

import threading
import time
from collections.abc import Callable

import cv2

POLL_SECONDS = 0.1  # between two checks whether the stream is still wanted
# Seconds, chosen by eye. A thread that returns from OpenCV while Python shuts down aborts the
# process. So a server that answers at all gets GRACE to do so, and an open that is less than NEAR
# from timing out is waited for until the timeout plus OVERRUN.
GRACE, NEAR, OVERRUN = 1.0, 2.0, 0.5


class CancellableOpen:
    """Opens a capture in a daemon thread; ``timeout`` is the capture's own limit in seconds."""

    def __init__(self, open_capture: Callable[[], cv2.VideoCapture], timeout: float) -> None:
        self._open_capture = open_capture
        self._deadline = time.monotonic() + timeout
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._cancelled = False
        self._capture: cv2.VideoCapture | None = None
        self._error: Exception | None = None
        threading.Thread(target=self._open, name="opening", daemon=True).start()

    def wait(self, still_wanted: Callable[[], bool]) -> cv2.VideoCapture:
        """The capture; one that is not open if it was given up."""
        while not self._done.wait(POLL_SECONDS):
            if not still_wanted() and not self._done.wait(self._grace()):
                break
        with self._lock:
            self._cancelled = True
            if self._error is not None:
                raise self._error
            return cv2.VideoCapture() if self._capture is None else self._capture

    def _grace(self) -> float:
        left = self._deadline - time.monotonic()
        return max(GRACE, left + OVERRUN) if left < NEAR else GRACE

    def _open(self) -> None:
        try:
            capture = self._open_capture()
        except Exception as error:
            self._error = error
        else:
            with self._lock:
                if self._cancelled:
                    capture.release()
                else:
                    self._capture = capture
        self._done.set()
