"""Plays clips: videos, images, the demo and recorded sessions, every frame in order."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass

from rankotom_edge.frame import Frame, Image
from rankotom_edge.sources.frame_queue import FrameQueue
from rankotom_edge.sources.source import Clock, Source, State, reading_error

# Images decoded ahead, so that the loop seldom waits for the decoder (see FrameQueue). Chosen by
# eye; at four bytes a pixel, six frames of 4K video take 200 MB.
AHEAD = 6
PHOTOGRAPHS_AHEAD = 2  # a photograph may have 24 megapixels
# Seconds of delay that playback catches up with; after a longer one (a pause) it resumes from where
# it is. Chosen by eye.
CATCH_UP = 0.25


@dataclass(frozen=True, eq=False)
class TimedImage:
    image: Image
    time: float  # seconds since the first image, by the clip's own time stamps
    index: int | None = None  # position in the clip, if unreadable images leave gaps; else None


class Clip(ABC):
    name: str
    still = False
    photographs = False
    fps: float | None = None  # known once the first image was read
    remark: str | None = None  # what is wrong with the clip, as far as it was read
    done: float | None = None  # share of the clip that was read, where its length is known

    @abstractmethod
    def images(self) -> Generator[TimedImage, None, None]:
        """At least one, or RankotomError. Runs in the decoding thread."""

    def frames(self, clock: Clock = time.monotonic) -> Generator[Frame, None, None]:
        """The same as frames, decoded as they are asked for."""
        try:
            with closing(self.images()) as images:
                for count, timed in enumerate(images):
                    index = count if timed.index is None else timed.index
                    yield Frame(timed.image, index, timed.time, captured=clock())
        except Exception as error:  # whatever a decoder raises
            raise reading_error(error, self.name) from error


class PlaybackPace:
    """When each image is due. A slow reader sees later images later, not faster."""

    def __init__(self) -> None:
        self._started: float | None = None

    def due_in(self, image_time: float, now: float) -> float:
        """Seconds until the image is due; negative if it is overdue."""
        if self._started is None or now - (self._started + image_time) > CATCH_UP:
            self._started = now - image_time
        return self._started + image_time - now


class PlaybackSource(Source):
    """Decodes a clip ahead of the loop; ``paced``: at the clip's own pace by ``clock``."""

    live = False
    dropped = 0

    def __init__(self, clip: Clip, paced: bool, clock: Clock = time.monotonic) -> None:
        self.name = clip.name
        self.still = clip.still
        self.photographs = clip.photographs
        self._clip = clip
        self._clock = clock
        self._pace = PlaybackPace() if paced else None
        self._next: Frame | None = None
        self._closing = threading.Event()
        ahead = PHOTOGRAPHS_AHEAD if clip.photographs else AHEAD
        self._queue = FrameQueue(ahead, keep_newest=False)
        self._thread = threading.Thread(target=self._decode, name=f"decoding {self.name}")
        self._thread.start()
        try:
            self._queue.wait_for_first()
        except BaseException:  # an interrupt as well: the thread must not keep the process alive
            self.close()
            raise
        self.fps = clip.fps

    @property
    def state(self) -> State:
        remark = f": {self._clip.remark}" if self._clip.remark else ""
        if self._next is None and self._queue.exhausted:
            return State("ended", f"ended{remark}")
        return State("playing", f"playing{remark}")

    def read(self, timeout: float) -> Frame | None:
        deadline = time.monotonic() + timeout
        if self._next is None:
            self._next = self._queue.get(timeout)
        if self._next is None:
            return None
        if self._pace is not None:
            due_in = self._pace.due_in(self._next.time, self._clock())
            left = max(0.0, deadline - time.monotonic())
            if self._closing.wait(max(0.0, min(due_in, left))) or due_in > left:
                return None
            self.late = max(0.0, -due_in)
        frame, self._next = self._next, None
        # Latency counts from here, without the time that a decoded frame waits in the queue.
        frame.captured = self._clock()
        return frame

    def close(self) -> None:
        self._closing.set()
        self._queue.close()
        self._next = None
        self._thread.join()

    def _decode(self) -> None:
        try:
            with closing(self._clip.frames(self._clock)) as frames:
                for frame in frames:
                    frame.prepare()
                    if not self._queue.put(frame):
                        return
        except Exception as error:  # whatever it is, the loop must know: it waits for frames
            self._queue.finish(reading_error(error, self.name))
        finally:
            self._queue.finish()
