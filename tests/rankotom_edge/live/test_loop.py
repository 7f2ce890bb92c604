"""The loop with real parts: the demo, the detector and the model; a view that presses keys."""

from __future__ import annotations

import threading
import time
from importlib import resources
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.frame import Frame
from rankotom_edge.live.key_actions import KeyActions
from rankotom_edge.live.loop import Stop, run_loop
from rankotom_edge.live.reader import Reader
from rankotom_edge.live.run_stats import RunStats
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.readings.drift_monitor import DriftMonitor
from rankotom_edge.readings.error_budget import ErrorBudget
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.sources import Source, State, open_source
from rankotom_edge.sources.frame_queue import FrameQueue
from rankotom_edge.views.display import Display
from rankotom_edge.views.no_view import NoView
from rankotom_edge.views.view import View


class Person:
    """A view at which somebody presses keys, each after a number of frames."""

    interactive = True
    shows_faces = True

    def __init__(self, presses: dict[int, str] | None = None, leaves_after: int | None = None):
        self.shown: list[Display] = []
        self._presses = dict(presses or {})
        self._leaves_after = leaves_after

    @property
    def closed(self) -> bool:
        return self._leaves_after is not None and len(self.shown) >= self._leaves_after

    def show(self, display: Display) -> None:
        self.shown.append(display)

    def key(self) -> str | None:
        return self._presses.pop(len(self.shown), None)


class Kept:
    def __init__(self) -> None:
        self.frames: list[FrameReadings] = []

    def write(self, readings: FrameReadings) -> None:
        self.frames.append(readings)


def run(source: Source, reader: Reader, view: View, stop: Stop | None = None, **more: Any) -> None:
    stats = RunStats(time.monotonic())
    run_loop(source, reader, view, KeyActions(), stats, stop or Stop(), **more)


def test_the_sinks_and_the_view_get_the_readings_of_every_frame(reader: Reader) -> None:
    kept, person = Kept(), Person()
    with open_source("demo") as source:
        run(source, reader, person, Stop(frames=20), sinks=[kept])
    assert [read.frame.index for read in kept.frames] == list(range(20))
    assert [display.latest for display in person.shown] == kept.frames
    assert kept.frames[-1].readings[0].top == "happiness"
    status = person.shown[-1].status
    assert (status.model, status.precision, status.still) == ("ferplus-fp32", "fp32", True)
    assert status.drift is None


def test_the_monitor_gets_every_frame_and_each_status_carries_its_drift(
    reader: Reader,
) -> None:
    card = load_artifact("ferplus-fp32").card
    monitor, person = DriftMonitor(card), Person()
    with open_source("demo") as source:
        run(source, reader, person, Stop(frames=20), monitor=monitor)
    drifts = [display.status.drift for display in person.shown]
    assert drifts[-1] == monitor.drift
    assert [drift.faces for drift in drifts if drift is not None][-1] == 1


def test_q_ends_it_and_so_does_a_closed_window(reader: Reader) -> None:
    for person in (Person({5: "q"}), Person(leaves_after=5)):
        with open_source("demo") as source:
            run(source, reader, person)
        assert len(person.shown) == 5


def test_a_pause_shows_the_same_frame_until_the_next_press(reader: Reader) -> None:
    person = Person({4: "space", 8: "space", 12: "q"})
    with open_source("demo") as source:
        run(source, reader, person)
    indexes = [display.latest.frame.index for display in person.shown if display.latest]
    assert indexes == [0, 1, 2, 3, 3, 3, 3, 3, 4, 5, 6, 7]
    assert [display.controls.paused for display in person.shown] == [False] * 4 + [True] * 4 + [
        False
    ] * 4


class Camera(Source):
    """A hundred pictures a second, of which only the newest is kept."""

    name, live, still, photographs, fps = "camera", True, False, False, 100.0
    state = State("playing", "")

    def __init__(self) -> None:
        self._queue = FrameQueue(1, keep_newest=True)
        self._thread = threading.Thread(target=self._film)
        self._thread.start()

    @property
    def dropped(self) -> int:
        return self._queue.dropped

    def read(self, timeout: float) -> Frame | None:
        return self._queue.get(timeout)

    def close(self) -> None:
        self._queue.close()
        self._thread.join()

    def _film(self) -> None:
        dark, began = np.zeros((48, 64, 3), np.uint8), time.monotonic()
        for index in count():
            now = time.monotonic()
            if not self._queue.put(Frame(dark, index, now - began, now)):
                return
            time.sleep(0.01)


def test_frames_during_a_pause_do_not_count_as_dropped(reader: Reader) -> None:
    person = Person({4: "space", 40: "q"})
    with Camera() as camera:
        run(camera, reader, person)
    displays = [display for display in person.shown if display.controls.paused]
    paused = [display.status.dropped for display in displays]
    assert len(paused) == 36
    assert paused[-1] - paused[0] < 10


class LosingSource(Source):
    """Three pictures, a loss, three more."""

    name, live, still, photographs, fps, dropped = "camera 0", True, False, False, 30.0, 0

    def __init__(self) -> None:
        self._reads = 0

    @property
    def state(self) -> State:
        lost = 3 < self._reads <= 6
        return State("lost", "lost: opening it again") if lost else State("playing", "playing")

    def read(self, timeout: float) -> Frame | None:
        self._reads += 1
        if self.state.kind == "lost":
            return None
        return Frame(np.zeros((48, 64, 3), np.uint8), self._reads, self._reads / 30, 0.0)

    def close(self) -> None: ...


def test_without_a_view_a_lost_source_and_its_return_are_still_noted(
    reader: Reader, capsys: pytest.CaptureFixture[str]
) -> None:
    run(LosingSource(), reader, NoView(), Stop(frames=6))
    assert capsys.readouterr().err.splitlines() == [
        "note: camera 0: lost: opening it again",
        "note: camera 0: playing",
    ]


def test_seconds_of_a_file_are_its_own(reader: Reader) -> None:
    kept = Kept()
    with open_source("demo") as source:
        run(source, reader, Person(), Stop(seconds=0.5), sinks=[kept])
    assert kept.frames[-1].frame.time == pytest.approx(0.5, abs=0.04)


def test_no_thread_outlives_the_source(reader: Reader) -> None:
    before = set(threading.enumerate())
    with open_source("demo") as source:
        run(source, reader, Person({3: "q"}))
    assert set(threading.enumerate()) == before


def test_the_last_photograph_stays_until_a_key_is_pressed(
    detector: FaceDetector, tmp_path: Path
) -> None:
    portrait = resources.files("rankotom_edge.sources") / "eileen-collins.jpg"
    (tmp_path / "face.jpg").write_bytes(portrait.read_bytes())
    classifier = Classifier(load_artifact("ferplus-fp32"))
    person = Person({7: "q"})
    with open_source(str(tmp_path / "face.jpg")) as source:
        reader = Reader(detector.detect, classifier, ErrorBudget(), stills=source.photographs)
        run(source, reader, person)
    assert len(person.shown) == 7
    latest = person.shown[-1].latest
    assert latest is not None
    assert [reading.top for reading in latest.readings] == ["happiness"]


def test_the_last_photograph_goes_when_its_seconds_are_over(tmp_path: Path, reader: Reader) -> None:
    portrait = resources.files("rankotom_edge.sources") / "eileen-collins.jpg"
    (tmp_path / "face.jpg").write_bytes(portrait.read_bytes())
    began = time.monotonic()
    with open_source(str(tmp_path / "face.jpg")) as source:
        run(source, reader, Person({}), Stop(seconds=0.5))
    assert 0.5 <= time.monotonic() - began < 10


class LateSource(Source):
    """Thirty pictures of a file, each ``late`` seconds behind its time."""

    name, live, still, photographs, fps, dropped = "clip.mp4", False, False, False, 60.0, 0

    def __init__(self, late: float) -> None:
        self.late = late
        self._given = 0

    @property
    def state(self) -> State:
        return State("playing" if self._given < 30 else "ended", "")

    def read(self, timeout: float) -> Frame | None:
        if self._given == 30:
            return None
        self._given += 1
        dark = np.zeros((48, 64, 3), np.uint8)
        return Frame(dark, self._given - 1, self._given / 60, time.monotonic())

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("late", "most"), [(0.0, 31), (0.2, 20)])
def test_a_file_behind_its_pace_skips_pictures_and_still_reads_every_frame(
    reader: Reader, late: float, most: int
) -> None:
    person, stats = Person({}), RunStats(time.monotonic())
    run_loop(LateSource(late), reader, person, KeyActions(), stats, Stop())
    assert stats.frames == 30
    assert 1 <= len(person.shown) <= most
    assert late or len(person.shown) >= 30
