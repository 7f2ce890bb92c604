"""Cameras and streams: gives the newest frame, and opens a lost source again."""

import math
import threading
import time
from collections.abc import Callable

import cv2

from calib.errors import RankotomError
from rankotom_edge.frame import Frame, Image
from rankotom_edge.sources.cancellable_open import GRACE, CancellableOpen
from rankotom_edge.sources.frame_queue import FrameQueue, program_has_ended
from rankotom_edge.sources.opencv_capture import (
    READ_SECONDS,
    releasing,
    reported_fps,
    retrieve_image,
)
from rankotom_edge.sources.source import Clock, Source, State, reading_error

# Seconds. All chosen by eye.
FIRST_DELAY, LONGEST_DELAY = 0.5, 10.0  # before a lost source is opened again, unless told
PLAYED_WELL = 2.0  # played so long, it is worth a short pause, however long the last one was
FIRST_IMAGE_DELAY = 0.1  # before a source that has not given an image yet is opened again
# How long close() waits for a device that does not answer; opening a stream is usually given up by
# then.
CLOSE_WITHIN = GRACE + 0.5

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def retry_delay(attempt: int, longest: float = LONGEST_DELAY) -> float:
    """0.5, 1, 2, 4, 8, 10, 10, … seconds before the first, second, … attempt."""
    return float(min(longest, FIRST_DELAY * 2 ** min(attempt - 1, 10)))


def lost_words(attempt: int, seconds: float) -> str:
    ordinal = f"{ORDINALS[attempt - 1]} try" if attempt <= len(ORDINALS) else f"try {attempt}"
    when = "now" if seconds <= 0 else f"in {math.ceil(seconds)} s"
    return f"lost: opening it again {when} ({ordinal})"


class ReconnectingSource(Source):
    """A thread reads the device as fast as it delivers and keeps the newest frame.

    ``open_capture`` returns an OpenCV capture, open or not; ``open_error`` explains why it did not
    open. A source may open and have no image for ``patience`` seconds (FFmpeg itself searches for
    at most 7 s). After a loss it is opened again after up to ``longest_delay`` seconds, and after
    the shortest delay if it has played longer than the last one took, or for some seconds.
    """

    live = True

    def __init__(
        self,
        name: str,
        open_capture: Callable[[], cv2.VideoCapture],
        open_error: Callable[[], RankotomError],
        clock: Clock = time.monotonic,
        patience: float = 0.0,
        longest_delay: float = LONGEST_DELAY,
    ) -> None:
        self.name = name
        self._longest_delay = longest_delay
        self._patience = patience
        self._open_capture = open_capture
        self._open_error = open_error
        self._clock = clock
        self._opened = False
        self._arrived = 0  # frames
        self._first = 0.0  # when the first frame arrived
        self._attempt = 0  # to open it again; 0 while it plays
        self._attempt_at = 0.0
        self._closing = threading.Event()
        self._queue = FrameQueue(1, keep_newest=True)
        # Not a daemon: a thread that returns from OpenCV while Python shuts down aborts the
        # process. The capture's timeouts end it within seconds.
        self._thread = threading.Thread(target=self._keep_reading, name=f"reading {name}")
        self._thread.start()
        try:
            self._queue.wait_for_first()
        except BaseException:  # an interrupt as well: the thread must not run on by itself
            self.close()
            raise

    @property
    def state(self) -> State:
        if self._queue.exhausted:
            return State("ended", "closed")
        attempt = self._attempt
        if attempt:
            return State("lost", lost_words(attempt, self._attempt_at - self._clock()))
        return State("playing", "playing")

    @property
    def dropped(self) -> int:
        return self._queue.dropped

    def read(self, timeout: float) -> Frame | None:
        return self._queue.get(timeout)

    def close(self) -> None:
        """Returns soon. A thread that still waits for its device ends, and releases the device,
        when the device answers or times out."""
        self._closing.set()
        self._queue.close()
        self._thread.join(CLOSE_WITHIN)

    def _keep_reading(self) -> None:
        try:
            self._play_first()
            if self._arrived == 0:
                self._queue.finish(self._open_error())
                return
            attempt = 0
            while self._is_wanted():
                attempt += 1
                delay = retry_delay(attempt, self._longest_delay)
                self._attempt_at = self._clock() + delay
                self._attempt = attempt
                if self._closing.wait(delay):
                    return
                if self._play() > min(delay, PLAYED_WELL):
                    attempt = 0  # it was worth opening: it is not dead, it drops out
        except Exception as error:  # whatever it is, the loop must know: it waits for frames
            self._queue.finish(reading_error(error, self.name))
        finally:
            self._queue.finish()

    def _is_wanted(self) -> bool:
        return not self._closing.is_set() and not program_has_ended()

    def _play_first(self) -> None:
        deadline = self._clock() + self._patience
        self._play()
        while self._opened and self._arrived == 0 and self._clock() < deadline:
            if self._closing.wait(FIRST_IMAGE_DELAY) or program_has_ended():
                return
            self._play()

    def _open(self) -> cv2.VideoCapture:
        """A device opens at once or not at all; a stream may take long."""
        if not self._patience:
            return self._open_capture()
        return CancellableOpen(self._open_capture, self._patience).wait(self._is_wanted)

    def _play(self) -> float:
        """Read until the source is lost or closed. Returns the seconds between its first and last
        image."""
        with releasing(self._open()) as capture:
            self._opened = capture.isOpened()
            started = last = self._clock()
            while self._is_wanted() and capture.grab():
                captured = self._clock()
                image = retrieve_image(capture)
                if image is not None:
                    last = captured
                    self._deliver(image, captured, capture)
                elif captured - last > READ_SECONDS:
                    break
            return last - started

    def _deliver(self, image: Image, captured: float, capture: cv2.VideoCapture) -> None:
        if self._arrived == 0:
            self._first = captured
            self.fps = reported_fps(capture)
        frame = Frame(image, self._arrived, captured - self._first, captured)
        frame.prepare()
        self._arrived += 1
        self._attempt = 0
        self._queue.put(frame)
