"""What the live loop costs per frame, stage by stage."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from rankotom_edge.frame import Frame
from rankotom_edge.live.key_actions import KeyActions
from rankotom_edge.live.loop import FrameReader, Stop, run_loop
from rankotom_edge.live.run_stats import RunStats
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.sources import Source, open_source
from rankotom_edge.views.no_view import NoView

WARM_UP = 30  # frames that are not timed: caches fill, and a new face gets its track
MAX_SECONDS = 25.0  # of measuring, however slow the machine or the camera
PERCENTILES = (50, 95, 99)
STAGES = ("detect", "follow", "crop", "classify", "capture_to_reading", "loop")


@dataclass(frozen=True)
class FrameCost:
    """Milliseconds per stage of one frame."""

    detect: float | None  # None if no detector was called: the faces were followed
    follow: float  # finding the faces, without the detector calls
    crop: float  # reading them, without the classifier call: crop, quality, smoothing
    classify: float
    capture_to_reading: float
    loop: float  # since the previous frame, waiting included
    faces: int


@dataclass(frozen=True)
class LoopCost:
    frames: tuple[FrameCost, ...]
    cpu: float  # CPU milliseconds of all threads

    @property
    def elapsed(self) -> float:
        return sum(frame.loop for frame in self.frames)

    @property
    def ratio(self) -> float:
        """The whole loop's time over that of its detector and classifier calls."""
        return self.elapsed / sum(frame.classify + (frame.detect or 0) for frame in self.frames)

    @property
    def fps(self) -> float:
        return 1000 * len(self.frames) / self.elapsed

    def times(self, stage: str) -> list[float]:
        """Of the frames that had this stage."""
        times = (getattr(frame, stage) for frame in self.frames)
        return [time for time in times if time is not None]

    def percentile(self, stage: str, percent: float) -> float | None:
        times = self.times(stage)
        return float(np.percentile(times, percent)) if times else None

    def as_json(self) -> dict[str, object]:
        return {
            "frames": len(self.frames),
            "faces": sum(frame.faces for frame in self.frames),
            "stages": {stage: self._stage_as_json(stage) for stage in STAGES},
            "throughput": round(self.fps, 2),
            "cpu_ms": round(self.cpu / len(self.frames), 3),
            "loop_ratio": round(self.ratio, 4),
        }

    def _stage_as_json(self, stage: str) -> dict[str, float | None]:
        values: dict[str, float | None] = {"count": len(self.times(stage))}
        for percent in PERCENTILES:
            value = self.percentile(stage, percent)
            values[f"p{percent}_ms"] = None if value is None else round(value, 3)
        return values


class TimedReader:
    """Passes frames on to a reader and notes what each costs."""

    def __init__(self, reader: FrameReader, warm_up: int = WARM_UP) -> None:
        self.model, self.precision = reader.model, reader.precision
        self.calibration = reader.calibration
        self._reader = reader
        self._warm_up_left = warm_up
        self._frames: list[FrameCost] = []
        self._previous_end = self._cpu_start = 0.0

    def read(self, frame: Frame) -> FrameReadings:
        started = time.perf_counter()
        read = self._reader.read(frame)
        now = time.perf_counter()
        if self._warm_up_left:
            self._warm_up_left -= 1
            self._cpu_start = time.process_time()
        else:
            latency = read.latency
            self._frames.append(
                FrameCost(
                    detect=latency.detect,
                    follow=latency.find - (latency.detect or 0.0),
                    crop=1000 * (now - started) - latency.find - latency.classify,
                    classify=latency.classify,
                    capture_to_reading=latency.total,
                    loop=1000 * (now - self._previous_end),
                    faces=len(read.readings),
                )
            )
        self._previous_end = now
        return read

    def cost(self) -> LoopCost | None:
        """None if no frame came after the warm-up."""
        cpu = 1000 * (time.process_time() - self._cpu_start)
        return LoopCost(tuple(self._frames), cpu) if self._frames else None


class TimeLimitView(NoView):
    """Closes, and so ends the loop, after some seconds by the clock."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def closed(self) -> bool:
        return time.monotonic() > self._end


@contextmanager
def demo_clip(frames: int) -> Iterator[Path]:
    """The demo's portrait as a 640x480 video file, so that the loop has to decode it."""
    with tempfile.TemporaryDirectory() as folder, open_source("demo") as demo:
        path = Path(folder) / "portrait.avi"
        writer: cv2.VideoWriter | None = None
        for _ in range(frames):
            frame = demo.read(10.0)
            assert frame is not None
            if writer is None:
                height, width = frame.image.shape[:2]
                motion_jpeg = cv2.VideoWriter.fourcc(*"MJPG")
                writer = cv2.VideoWriter(str(path), motion_jpeg, 30, (width, height))
            writer.write(frame.image)
        if writer is not None:
            writer.release()
        yield path


def measure_loop(
    source: Source, reader: FrameReader, frames: int, max_seconds: float = MAX_SECONDS
) -> LoopCost | None:
    """Runs the live loop without a view; None if the source ends within the warm-up."""
    timed, stats = TimedReader(reader), RunStats(time.monotonic())
    stop = Stop(frames=frames + WARM_UP)
    run_loop(source, timed, TimeLimitView(max_seconds), KeyActions(), stats, stop)
    return timed.cost()
