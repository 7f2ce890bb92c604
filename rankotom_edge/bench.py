"""What the live loop costs: beside the calls that it makes, and over hours.

make bench      the loop on a 640x480 clip with one face, and the first reading
make soak       memory, threads and file handles over 20,000 frames
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from rankotom_edge import models
from rankotom_edge.artifact import load_artifact
from rankotom_edge.classifier import Classifier
from rankotom_edge.desk import Desk
from rankotom_edge.faces import FaceDetector
from rankotom_edge.live import Reader, Stop, watch
from rankotom_edge.moment import Moment
from rankotom_edge.sources import Source, open_source
from rankotom_edge.tally import Tally
from rankotom_edge.views.nothing import NoView

MAX_ERROR = 0.5
WARM_UP = 30  # frames before the clock starts: caches, and the track that a face must earn
SETTLED = 1000  # frames after which memory must not grow


@dataclass(frozen=True)
class LoopCost:
    """Times in milliseconds."""

    frames: int
    elapsed: float
    detector: float
    classifier: float
    capture_to_reading: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Of the whole loop to the detector and classifier calls that it makes."""
        return self.elapsed / (self.detector + self.classifier)

    @property
    def fps(self) -> float:
        return 1000 * self.frames / self.elapsed

    def latency(self, share: float) -> float:
        return float(np.quantile(self.capture_to_reading, share))


class Ledger:
    """A sink that adds up what the moments cost."""

    def __init__(self, warm_up: int) -> None:
        self.moments: list[tuple[float, float, float]] = []
        self._left = warm_up
        self._began = self._ended = 0.0

    def write(self, moment: Moment) -> None:
        now = time.perf_counter()
        if self._left:
            self._left -= 1
            self._began = now
            return
        latency = moment.latency
        self.moments.append((latency.detect or 0.0, latency.classify, latency.total))
        self._ended = now

    def cost(self) -> LoopCost:
        detector, classifier, total = zip(*self.moments, strict=True)
        return LoopCost(
            frames=len(total),
            elapsed=1000 * (self._ended - self._began),
            detector=sum(detector),
            classifier=sum(classifier),
            capture_to_reading=total,
        )


@dataclass(frozen=True)
class Footprint:
    """What a process holds on to."""

    megabytes: float
    threads: int
    handles: int

    @classmethod
    def now(cls) -> Footprint:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(
            megabytes=pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
            threads=len(os.listdir("/proc/self/task")),  # the libraries' own as well
            handles=len(os.listdir("/proc/self/fd")),
        )


class Watchman:
    """A sink that looks at the footprint once the loop has settled, and at its last frame."""

    def __init__(self, last: int) -> None:
        self.frames = 0
        self.settled: Footprint | None = None
        self.at_last: Footprint | None = None
        self._last = last

    def write(self, moment: Moment) -> None:
        self.frames += 1
        if self.frames == SETTLED:
            self.settled = Footprint.now()
        if self.frames == self._last:
            self.at_last = Footprint.now()


def write_clip(path: Path, frames: int) -> None:
    """The demo's portrait as a 640x480 video file, so that decoding is part of what is timed."""
    with open_source("demo") as demo:
        first = demo.read(10.0)
        assert first is not None
        height, width = first.image.shape[:2]
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 30, (width, height))
        writer.write(first.image)
        for _ in range(frames - 1):
            frame = demo.read(10.0)
            assert frame is not None
            writer.write(frame.image)
        writer.release()


def run(source: Source, sink: Ledger | Watchman, frames: int) -> None:
    with source, FaceDetector() as detector:
        reader = Reader(detector.detect, Classifier(load_artifact(models.DEFAULT)), MAX_ERROR)
        tally = Tally(time.monotonic())
        watch(source, reader, NoView(), Desk([sink]), tally, Stop(frames=frames))


def measure_loop(frames: int) -> LoopCost:
    ledger = Ledger(WARM_UP)
    with tempfile.TemporaryDirectory() as folder:
        clip = Path(folder) / "portrait.avi"
        write_clip(clip, frames + WARM_UP)
        run(open_source(str(clip)), ledger, frames + WARM_UP)
    return ledger.cost()


def first_reading() -> float:
    """Seconds by the clock from the command to its first reading, warm disk."""
    command = [sys.executable, "-m", "rankotom_edge", "camera", "--source", "demo"]
    started = time.perf_counter()
    with subprocess.Popen(
        [*command, "--view", "none", "--json", "-"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        seen = any('"track"' in line for line in process.stdout)
        seconds = time.perf_counter() - started
        process.stdout.close()
    if not seen:
        sys.exit("the command ended without a reading")
    return seconds


def bench(frames: int) -> None:
    cost = measure_loop(frames)
    print(f"{cost.frames} frames of 640x480, one face, {models.DEFAULT}, no view")
    print(f"  whole loop / (detector + classifier)  {cost.ratio:.2f}   (at most 1.25)")
    print(f"  frames a second                       {cost.fps:.0f}   (at least 60)")
    print(f"  capture to reading, p50               {cost.latency(0.5):.1f} ms")
    print(f"  capture to reading, p95               {cost.latency(0.95):.1f} ms   (under 40)")
    first_reading()
    seconds = min(first_reading() for _ in range(3))
    print(f"  first reading, best of 3              {seconds:.2f} s   (within 2)")
    if cost.ratio > 1.25 or cost.fps < 60 or cost.latency(0.95) >= 40 or seconds >= 2:
        sys.exit("past a limit; on a busy machine, try again when it is quiet")


def soak(frames: int) -> None:
    watchman = Watchman(frames)
    before = Footprint.now()
    run(open_source("demo"), watchman, frames)
    after = Footprint.now()
    if watchman.settled is None or watchman.at_last is None:
        sys.exit(f"{watchman.frames} frames are too few: it settles in {SETTLED}")
    growth = watchman.at_last.megabytes - watchman.settled.megabytes
    print(f"{watchman.frames} frames of the demo")
    print(f"  memory after {SETTLED} frames   {watchman.settled.megabytes:.1f} MB")
    print(f"  growth since              {growth:+.1f} MB   (under 10)")
    print(
        f"  threads, file handles     {before.threads} and {before.handles} before, "
        f"{after.threads} and {after.handles} after"
    )
    if growth >= 10 or after.threads > before.threads or after.handles > before.handles:
        sys.exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=600)
    parser.add_argument("--soak", type=int, metavar="FRAMES")
    chosen = parser.parse_args()
    if chosen.soak is None:
        bench(chosen.frames)
    else:
        soak(chosen.soak)


if __name__ == "__main__":
    main()
