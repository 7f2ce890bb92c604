"""The loop: frame -> faces -> readings -> views."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Protocol

import cv2
import numpy as np

from rankotom_edge import interrupts
from rankotom_edge.faces.crop import crop
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import Qualities
from rankotom_edge.faces.second_pass import Detect
from rankotom_edge.faces.tracker import TrackedFace, Tracker
from rankotom_edge.frame import Frame, Image
from rankotom_edge.live.key_actions import KeyActions
from rankotom_edge.live.run_stats import RunStats
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.model.reliability import confidence_needed
from rankotom_edge.readings.drift_monitor import DriftMonitor
from rankotom_edge.readings.frame_readings import FrameReadings, Latency, Status
from rankotom_edge.readings.reading import Reading, read_expression
from rankotom_edge.readings.smoothing import Smoother
from rankotom_edge.sources import Source
from rankotom_edge.views.controls import Controls

# How long the loop waits for a frame before it looks at the keys again.
PATIENCE = 0.05
# A file that is so much behind its pace, in seconds, catches up by leaving pictures out, though it
# shows some all the same. Faces are read in every frame.
BEHIND, SHOWN_AGAIN = 0.04, 0.1


class View(Protocol):
    interactive: bool  # somebody is there to press a key
    blank: bool  # nobody looks either: it is shown only that a source is lost, or back

    @property
    def closed(self) -> bool: ...

    def show(self, moment: FrameReadings | None, status: Status, controls: Controls) -> None: ...

    def key(self) -> str | None:
        """The oldest key that was pressed and not yet asked for."""


class AnyReader(Protocol):
    model: str
    precision: str

    def find(self, frame: Frame) -> tuple[TrackedFace, ...]: ...

    def read(self, frame: Frame, faces: tuple[TrackedFace, ...]) -> FrameReadings: ...


@dataclass(frozen=True)
class Stop:
    """When to end by itself; None is never."""

    frames: int | None = None
    seconds: float | None = None  # of the source, and of the clock while it gives no frames

    def reached(self, frames: int, seconds: float) -> bool:
        return (self.frames is not None and frames >= self.frames) or (
            self.seconds is not None and seconds >= self.seconds
        )


class Stopwatch:
    """How long the detectors took together; None where none was asked."""

    def __init__(self) -> None:
        self.milliseconds: float | None = None

    def on(self, detect: Detect) -> Detect:
        def timed(image: Image) -> tuple[Face, ...]:
            started = time.perf_counter()
            faces = detect(image)
            self.milliseconds = 1000 * (time.perf_counter() - started) + (self.milliseconds or 0)
            return faces

        return timed


class Reader:
    """Finds the faces of a frame and reads their expressions.

    ``far``: a detector for faces that are too far away for ``detect``, and slower.
    """

    def __init__(
        self,
        detect: Detect,
        classifier: Classifier,
        max_error: float,
        far: Detect | None = None,
        stills: bool = False,
    ) -> None:
        self.model = classifier.artifact.card.name
        self.precision = classifier.artifact.card.precision
        self._classifier = classifier
        self._watch = watch = Stopwatch()
        self._tracker = Tracker(
            watch.on(detect), far=None if far is None else watch.on(far), stills=stills
        )
        self._smoother = Smoother()
        self._qualities = Qualities()
        self._said: dict[int, Reading] = {}  # of each face, in the frame before
        self._needed = confidence_needed(classifier.artifact.card.figures["bins"], max_error)

    def find(self, frame: Frame) -> tuple[TrackedFace, ...]:
        self._watch.milliseconds = None
        return self._tracker.update(frame)

    def read(self, frame: Frame, faces: tuple[TrackedFace, ...]) -> FrameReadings:
        card = self._classifier.artifact.card
        contract = card.crop
        crops = np.zeros((len(faces), contract.channels, contract.size, contract.size), np.uint8)
        qualities = []
        picture = frame.grey if contract.channels == 1 else frame.image
        for place, tracked in enumerate(faces):
            crops[place] = crop(
                picture, tracked.face, contract.framing, contract.size, contract.channels
            )
            qualities.append(
                self._qualities.update(
                    tracked.track,
                    tracked.face,
                    tracked.detected,
                    frame.time,
                    frame.image,
                    crops[place],
                )
            )
        started = time.perf_counter()
        scores = self._classifier.classify(crops)
        classify = 1000 * (time.perf_counter() - started)
        readings = []
        for place, tracked in enumerate(faces):
            raw = scores.probabilities[place].astype(np.float64)
            readings.append(
                read_expression(
                    tracked,
                    labels=card.labels,
                    raw=raw,
                    probabilities=self._smoother.update(tracked.track, raw, frame.time),
                    quality=qualities[place],
                    needed=self._needed,
                    crop=crops[place],
                    evidence=None if scores.evidence is None else scores.evidence[place],
                    before=self._said.get(tracked.track),
                    time=frame.time,
                )
            )
        self._smoother.keep(frame.time)
        self._qualities.keep(face.track for face in faces)
        self._said = {reading.track: reading for reading in readings}
        total = 1000 * (time.monotonic() - frame.captured)
        return FrameReadings(
            frame, tuple(readings), Latency(self._watch.milliseconds, classify, total)
        )


def status(
    source: Source,
    reader: AnyReader,
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


def watch(
    source: Source,
    reader: AnyReader,
    view: View,
    desk: KeyActions,
    tally: RunStats,
    stop: Stop,
    monitor: DriftMonitor | None = None,
) -> None:
    """Until the source ends, the person has seen enough, or ``stop`` says so."""
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
        frame = None if desk.controls.paused else source.read(PATIENCE)
        if frame is not None:
            faces = reader.find(frame)
            moment = reader.read(frame, faces)
            desk.write(moment)
            if monitor is not None:
                monitor.write(moment)
            tally.add(moment.latency.total, time.monotonic())
        elif desk.controls.paused and source.live:
            source.read(PATIENCE)  # nobody sees it, but it was not too late for anybody
        elif desk.controls.paused:
            time.sleep(PATIENCE)
        elif source.state.kind == "ended":
            if not (source.photographs and view.interactive):
                break
            time.sleep(PATIENCE)  # the last photograph stays until the person has seen enough
        playing = frame is not None and state == "playing"
        if view.blank and (playing or source.state.kind == state):
            continue
        now = time.monotonic()
        if playing and source.late > BEHIND and now - shown_at < SHOWN_AGAIN:
            continue
        state, shown_at = source.state.kind, now
        shown = status(source, reader, tally, desk, now, monitor)
        view.show(moment, shown, desk.controls)
        while (key := view.key()) is not None:
            desk.press(key, moment, shown, now)
