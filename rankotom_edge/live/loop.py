"""The live loop: frame -> faces -> readings -> views."""

import math
import time
from collections.abc import Callable, Sequence
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
from rankotom_edge.views.history import History
from rankotom_edge.views.view import View

READ_TIMEOUT = 0.05  # seconds to wait for a frame before the keys are handled. By eye
# A file that lags this many seconds behind its pace skips pictures until it has caught up, but
# shows at least one in every SHOW_EVERY seconds. Every frame is read. Both are chosen by eye.
LAGGING, SHOW_EVERY = 0.04, 0.1


class FrameReader(Protocol):
    """``Reader``, or in a replay the readings as they were recorded."""

    model: str
    precision: str
    calibration: str | None  # the user's own, in words

    def read(self, frame: Frame) -> FrameReadings: ...


class Sink(Protocol):
    """Takes the readings of every frame: a stream, a recording, counters."""

    def write(self, readings: FrameReadings) -> None: ...


@dataclass(frozen=True)
class Stop:
    """When the loop ends without being asked to; None is never."""

    frames: int | None = None
    seconds: float | None = None  # of the source, or of the clock while no frame arrives

    def is_reached(self, frames: int, seconds: float) -> bool:
        return (self.frames is not None and frames >= self.frames) or (
            self.seconds is not None and seconds >= self.seconds
        )


def current_status(
    source: Source,
    reader: FrameReader,
    stats: RunStats,
    actions: KeyActions,
    now: float,
    monitor: DriftMonitor | None = None,
) -> Status:
    return Status(
        source=source.name,
        state=source.state,
        fps=stats.fps(now),
        latency_ms=stats.latency(now),
        dropped=source.dropped,
        model=reader.model,
        precision=reader.precision,
        calibration=reader.calibration,
        recording=actions.recording,
        still=source.still,
        notice=actions.notice(now),
        drift=None if monitor is None else monitor.drift,
    )


def run_loop(
    source: Source,
    reader: FrameReader,
    view: View,
    actions: KeyActions,
    stats: RunStats,
    stop: Stop,
    sinks: Sequence[Sink] = (),
    monitor: DriftMonitor | None = None,
    duties: Sequence[Callable[[float], None]] = (),
) -> None:
    """Runs until the source ends, the person quits, or ``stop`` is reached. ``duties`` are called
    with the time at each turn, twenty times a second even without a frame."""
    latest: FrameReadings | None = None
    shown_state, shown_at = "playing", -math.inf
    history = History()
    # The images are small: waking OpenCV's threads takes longer than they save, and they would
    # compete with the thread that decodes the next frame.
    cv2.setNumThreads(1)
    while not (actions.quit or view.closed):
        interrupts.check()
        for duty in duties:
            duty(time.monotonic())
        if stop.is_reached(stats.frames, _elapsed_seconds(source, stats, latest)):
            break
        paused = actions.controls.paused
        frame = None if paused else source.read(READ_TIMEOUT)
        if frame is not None:
            latest = reader.read(frame)
            for sink in (*sinks, actions):
                sink.write(latest)
            if monitor is not None:
                monitor.write(latest)
            if view.shows_faces:
                history.add(frame.time, latest.readings)
            stats.add(latest.latency.total, time.monotonic())
        elif paused and source.live:
            source.read(READ_TIMEOUT)  # discarded, so that it does not count as dropped
        elif paused:
            time.sleep(READ_TIMEOUT)
        elif source.state.kind == "ended":
            if not (source.photographs and view.interactive):
                break
            time.sleep(READ_TIMEOUT)  # the last photograph stays until a key is pressed

        now, state = time.monotonic(), source.state.kind
        playing = frame is not None and shown_state == "playing"
        if not view.shows_faces and (playing or state == shown_state):
            continue
        if playing and source.late > LAGGING and now - shown_at < SHOW_EVERY:
            continue
        shown_state, shown_at = state, now
        status = current_status(source, reader, stats, actions, now, monitor)
        display = Display(latest, status, actions.controls, history)
        view.show(display)
        while (key := view.key()) is not None:
            actions.press(key, display, now)


def _elapsed_seconds(source: Source, stats: RunStats, latest: FrameReadings | None) -> float:
    """Seconds of a file by its own time, until it has ended; of a camera by the clock."""
    if source.live or latest is None or source.state.kind == "ended":
        return stats.seconds(time.monotonic())
    return latest.frame.time
