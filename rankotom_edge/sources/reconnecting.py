"""Cameras and streams: the newest frame, and the same source again after it was lost."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

import cv2

from calib.errors import RankotomError
from rankotom_edge.frame import Frame, Image
from rankotom_edge.sources.cancellable_open import GRACE, Opening
from rankotom_edge.sources.capture import READ_SECONDS, own_fps, picture_of, released
from rankotom_edge.sources.frame_queue import Handover, abandoned
from rankotom_edge.sources.playback import Clock, explained
from rankotom_edge.sources.source import Source, State

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0  # seconds before it is opened again
AGAIN = 0.1  # seconds before it is opened again for its first picture
STEADY = 5.0  # seconds of playing after which a loss is a new one, with a short pause
# Seconds that close() waits for a device that does not answer; a stream that is being opened is
# mostly given up by then.
CLOSE_WITHIN = GRACE + 0.5

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def pause_before(attempt: int) -> float:
    """0.5, 1, 2, 4, 8, 10, 10, … seconds before the first, second, … attempt."""
    return float(min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(attempt - 1, 10)))


def lost_words(attempt: int, seconds: float) -> str:
    counted = f"{ORDINALS[attempt - 1]} try" if attempt <= len(ORDINALS) else f"try {attempt}"
    when = "now" if seconds <= 0 else f"in {math.ceil(seconds)} s"
    return f"lost: opening it again {when} ({counted})"


class LiveSource(Source):
    """A thread reads the device as fast as it delivers, and leaves the newest frame for us.

    ``open_capture`` gives an OpenCV capture, opened or not; ``refused`` says why it does not open.
    One that opens may be without a picture for ``patience`` seconds: FFmpeg looks for no longer
    than 7 s at a time.
    """

    live = True
    still = False
    photographs = False

    def __init__(
        self,
        name: str,
        open_capture: Callable[[], cv2.VideoCapture],
        refused: Callable[[], RankotomError],
        clock: Clock = time.monotonic,
        patience: float = 0.0,
    ) -> None:
        self.name = name
        self.fps: float | None = None
        self._patience = patience
        self._open_capture = open_capture
        self._refused = refused
        self._clock = clock
        self._opened = False
        self._arrived = 0
        self._first = 0.0  # when the first frame arrived
        self._attempt = 0  # to open it again; 0 while it plays
        self._attempt_at = 0.0
        self._closing = threading.Event()
        self._handover = Handover(1, newest=True)
        # Not a daemon: one that wakes up inside OpenCV while Python shuts down aborts the process.
        # The time limits of a capture end it within seconds, whatever it waits for.
        self._thread = threading.Thread(target=self._keep_reading, name=f"reading {name}")
        self._thread.start()
        try:
            self._handover.wait_for_first()
        except BaseException:  # an interrupt as well: the thread must not go on by itself
            self.close()
            raise

    @property
    def state(self) -> State:
        if self._handover.exhausted:
            return State("ended", "closed")
        attempt = self._attempt
        if attempt:
            return State("lost", lost_words(attempt, self._attempt_at - self._clock()))
        return State("playing", "playing")

    @property
    def dropped(self) -> int:
        return self._handover.dropped

    def read(self, timeout: float) -> Frame | None:
        return self._handover.take(timeout)

    def close(self) -> None:
        """Returns soon; a thread that still waits for its device ends, and lets it go, when the
        device answers or its time is up."""
        self._closing.set()
        self._handover.close()
        self._thread.join(CLOSE_WITHIN)

    def _keep_reading(self) -> None:
        try:
            self._play_first()
            if self._arrived == 0:
                self._handover.finish(self._refused())
                return
            attempt = 0
            while self._wanted():
                attempt += 1
                pause = pause_before(attempt)
                self._attempt_at = self._clock() + pause
                self._attempt = attempt
                if self._closing.wait(pause):
                    return
                if self._play() > STEADY:
                    attempt = 0
        except (cv2.error, MemoryError) as error:
            self._handover.finish(explained(error, self.name))
        finally:
            self._handover.finish()

    def _wanted(self) -> bool:
        return not self._closing.is_set() and not abandoned()

    def _play_first(self) -> None:
        deadline = self._clock() + self._patience
        self._play()
        while self._opened and self._arrived == 0 and self._clock() < deadline:
            if self._closing.wait(AGAIN) or abandoned():
                return
            self._play()

    def _open(self) -> cv2.VideoCapture:
        """A device opens at once or not at all; a stream may take longer than anybody waits."""
        if not self._patience:
            return self._open_capture()
        return Opening(self._open_capture, self._patience).result(self._wanted)

    def _play(self) -> float:
        """Until the source is lost or closed; for how many seconds there were pictures."""
        with released(self._open()) as capture:
            self._opened = capture.isOpened()
            began = last = self._clock()
            while self._wanted() and capture.grab():
                captured = self._clock()
                image = picture_of(capture)
                if image is not None:
                    last = captured
                    self._deliver(image, captured, capture)
                elif captured - last > READ_SECONDS:
                    break
            return last - began

    def _deliver(self, image: Image, captured: float, capture: cv2.VideoCapture) -> None:
        if self._arrived == 0:
            self._first = captured
            self.fps = own_fps(capture)
        frame = Frame(image, self._arrived, captured - self._first, captured)
        frame.prepare()
        self._arrived += 1
        self._attempt = 0
        self._handover.give(frame)
