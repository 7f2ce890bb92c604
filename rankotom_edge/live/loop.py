"""The live loop: frame -> faces -> readings -> views."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Protocol

import cv2

from rankotom_edge import interrupts
from rankotom_edge.frame import Frame
from rankotom_edge.live.key_actions import KeyActions
from rankotom_edge.live.run_stats import RunStats
from rankotom_edge.readings.drift_monitor import DriftMonitor
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.sources import Source
from rankotom_edge.views.display import Display, Status
from rankotom_edge.views.view import View

READ_TIMEOUT = 0.05  # seconds to wait for a frame before the keys are handled again
# A file that lags this many seconds behind its pace skips pictures until it has caught up, but
# shows at least one in every SHOW_EVERY seconds. Every frame is read. Both are chosen by eye.
LAGGING, SHOW_EVERY = 0.04, 0.1


class FrameReader(Protocol):
    """``Reader``, or in a replay the readings as they were recorded."""

    model: str
    precision: str

    def read(self, frame: Frame) -> FrameReadings: ...


@dataclass(frozen=True)
class Stop:
    """When the loop ends without being asked to; None is never."""

    frames: int | None = None
    seconds: float | None = None  # of the source, or of the clock while no frame arrives

    def reached(self, frames: int, seconds: float) -> bool:
        return (self.frames is not None and frames >= self.frames) or (
            self.seconds is not None and seconds >= self.seconds
        )


def status(
    source: Source,
    reader: FrameReader,
    tally: RunStats,
    desk: KeyActions,
    now: float,
    monitor: DriftMonitor | None = None,
) -> Status:
    return Status(
        source=source.name,
        state=source.state,
        fps=tally.fps(now),
        latency_ms=tally.latency(now),
        dropped=source.dropped,
        model=reader.model,
        precision=reader.precision,
        recording=desk.recording,
        still=source.still,
        notice=desk.notice(now),
        drift=None if monitor is None else monitor.drift,
    )


def run_loop(
    source: Source,
    reader: FrameReader,
    view: View,
    desk: KeyActions,
    tally: RunStats,
    stop: Stop,
    monitor: DriftMonitor | None = None,
) -> None:
    """Runs until the source ends, the person quits, or ``stop`` is reached."""
    moment: FrameReadings | None = None
    state = "playing"
    shown_at = -math.inf
    # OpenCV's pictures here are small: to wake its threads costs more than they save, and they
    # would take the core that decodes the next frame.
    cv2.setNumThreads(1)
    while not (desk.quit or view.closed):
        interrupts.check()
        now = time.monotonic()
        by_clock = source.live or moment is None or source.state.kind == "ended"
        elapsed = tally.seconds(now) if by_clock or moment is None else moment.frame.time
        if stop.reached(tally.frames, elapsed):
            break
        frame = None if desk.controls.paused else source.read(READ_TIMEOUT)
        if frame is not None:
            moment = reader.read(frame)
            desk.write(moment)
            if monitor is not None:
                monitor.write(moment)
            tally.add(moment.latency.total, time.monotonic())
        elif desk.controls.paused and source.live:
            source.read(READ_TIMEOUT)  # nobody sees it, but it was not too late for anybody
        elif desk.controls.paused:
            time.sleep(READ_TIMEOUT)
        elif source.state.kind == "ended":
            if not (source.photographs and view.interactive):
                break
            time.sleep(READ_TIMEOUT)  # the last photograph stays until the person has seen enough
        playing = frame is not None and state == "playing"
        if not view.shows_faces and (playing or source.state.kind == state):
            continue
        now = time.monotonic()
        if playing and source.late > LAGGING and now - shown_at < SHOW_EVERY:
            continue
        state, shown_at = source.state.kind, now
        shown = status(source, reader, tally, desk, now, monitor)
        display = Display(moment, shown, desk.controls)
        view.show(display)
        while (key := view.key()) is not None:
            desk.press(key, display, now)
