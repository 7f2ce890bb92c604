"""Whether memory, threads or file handles grow over thousands of frames."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from rankotom_edge.live.build import open_classifier, open_reader
from rankotom_edge.live.key_actions import KeyActions
from rankotom_edge.live.loop import Stop, run_loop
from rankotom_edge.live.run_stats import RunStats
from rankotom_edge.model import embedded
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.sources import open_source
from rankotom_edge.views.no_view import NoView

SETTLED = 1000  # frames after which memory must not grow. Chosen by eye, like the limit
MAX_GROWTH = 10.0  # megabytes


@dataclass(frozen=True)
class Footprint:
    """What this process holds."""

    megabytes: float
    threads: int
    handles: int

    @classmethod
    def now(cls) -> Footprint:
        if sys.platform != "linux":
            sys.exit("make soak reads Linux's /proc; this system has none")
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(
            megabytes=pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
            threads=len(os.listdir("/proc/self/task")),  # native threads included
            handles=len(os.listdir("/proc/self/fd")),
        )


class FootprintSink:
    """Takes the footprint at frame ``SETTLED`` and at the last frame."""

    def __init__(self, last: int) -> None:
        self.frames = 0
        self.settled: Footprint | None = None
        self.at_last: Footprint | None = None
        self._last = last

    def write(self, readings: FrameReadings) -> None:
        self.frames += 1
        if self.frames == SETTLED:
            self.settled = Footprint.now()
        if self.frames == self._last:
            self.at_last = Footprint.now()


def soak(frames: int) -> None:
    """Runs the demo and prints what it holds; exits with 1 if it leaks."""
    sink = FootprintSink(frames)
    before = Footprint.now()
    with (
        open_source("demo") as source,
        open_classifier(embedded.DEFAULT, "cpu") as (classifier, _),
        open_reader(classifier) as reader,
    ):
        stats = RunStats(time.monotonic())
        run_loop(source, reader, NoView(), KeyActions(), stats, Stop(frames=frames), [sink])
    after = Footprint.now()
    # The system lists MediaPipe's threads for a moment after they have ended.
    deadline = time.monotonic() + 2
    while after.threads > before.threads and time.monotonic() < deadline:
        time.sleep(0.05)
        after = Footprint.now()
    if sink.settled is None or sink.at_last is None:
        sys.exit(f"{sink.frames} frames are too few: memory settles in {SETTLED}")
    growth = sink.at_last.megabytes - sink.settled.megabytes
    print(f"{sink.frames} frames of the demo")
    print(f"  memory after {SETTLED} frames   {sink.settled.megabytes:.1f} MB")
    print(f"  growth since              {growth:+.1f} MB   (limit {MAX_GROWTH:.0f})")
    print(
        f"  threads, file handles     {before.threads} and {before.handles} before, "
        f"{after.threads} and {after.handles} after"
    )
    if growth >= MAX_GROWTH or after.threads > before.threads or after.handles > before.handles:
        sys.exit(1)
