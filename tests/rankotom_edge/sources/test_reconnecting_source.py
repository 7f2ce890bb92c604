from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.sources import Source, open_source, reconnecting_source
from rankotom_edge.sources.opencv_capture import READ_SECONDS, open_video
from rankotom_edge.sources.reconnecting_source import ReconnectingSource, lost_words, retry_delay

needs_ffmpeg = pytest.mark.skipif(
    shutil.which("ffmpeg") is None, reason="ffmpeg, which plays the camera, is not installed"
)
FPS = 20


@pytest.fixture(autouse=True)
def _nothing_leaks() -> Iterator[None]:
    threads, handles = threading.active_count(), len(os.listdir("/proc/self/fd"))
    yield
    # A thread that was left waiting for its device ends by the device's time limit.
    wait_until(lambda: threading.active_count() == threads)
    wait_until(lambda: len(os.listdir("/proc/self/fd")) == handles)


def wait_until(happened: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def free_port(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def listens(port: int) -> bool:
    """Without a connection, for this camera takes one only."""
    rows = (row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return any(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows)


class PlayedCamera:
    """A camera played by ffmpeg: a clip at its own pace, over and over."""

    def __init__(self, clip: Path, url: str) -> None:
        self.url = url
        self._clip = clip
        self._player: subprocess.Popen[bytes] | None = None

    def plug_in(self) -> None:
        over_http = self.url.startswith("http")
        sending = (
            "-c:v mjpeg -q:v 3 -f mpjpeg -listen 1"
            if over_http
            else "-c:v mpeg2video -g 5 -f mpegts"
        )
        self._player = subprocess.Popen(
            [
                *("ffmpeg", "-v", "quiet", "-re", "-stream_loop", "-1", "-i", str(self._clip)),
                *(*sending.split(), self.url),
            ],
            stdin=subprocess.DEVNULL,
        )
        if over_http:
            wait_until(lambda: listens(int(self.url.split(":")[2].split("/")[0])))

    def send(self, number: signal.Signals) -> None:
        assert self._player is not None
        self._player.send_signal(number)

    def pull_out(self) -> None:
        if self._player is not None:
            self._player.kill()
            self._player.wait()
            self._player = None


@pytest.fixture
def camera(clip: Path) -> Iterator[PlayedCamera]:
    played = PlayedCamera(clip, f"http://127.0.0.1:{free_port(socket.SOCK_STREAM)}/cam.mjpg")
    played.plug_in()
    yield played
    played.pull_out()


def brightness(source: Source) -> float:
    frame = source.read(timeout=10)
    assert frame is not None
    return float(frame.image.mean())


@needs_ffmpeg
def test_a_slow_reader_gets_the_newest_frame_and_the_others_are_counted(
    camera: PlayedCamera,
) -> None:
    with open_source(camera.url) as source:
        assert (source.name, source.live, source.still) == (camera.url, True, False)
        assert source.read(timeout=10) is not None
        indexes = []
        for _ in range(3):
            fell_asleep = time.monotonic()
            time.sleep(0.8)
            frame = source.read(timeout=10)
            assert frame is not None
            assert frame.captured > fell_asleep + 0.2, "it had waited in a queue"
            assert frame.image.shape == (120, 160, 3)
            indexes.append(frame.index)
        assert indexes[0] >= 3
        assert all(later - earlier >= 3 for earlier, later in pairwise(indexes))
        assert source.dropped >= indexes[-1] + 1 - 4
        assert source.state.words == "playing"


@needs_ffmpeg
def test_a_quick_reader_gets_each_frame_once_with_times_by_the_clock(camera: PlayedCamera) -> None:
    with open_source(camera.url) as source:
        frames = [frame for _ in range(30) if (frame := source.read(timeout=10)) is not None]
    assert len(frames) == 30
    assert all(later.index > earlier.index for earlier, later in pairwise(frames))
    for earlier, later in pairwise(frames):
        assert later.time - earlier.time == pytest.approx(later.captured - earlier.captured)
    assert frames[-1].time > 1, "a second of pictures takes a second"


@needs_ffmpeg
def test_a_camera_over_udp_is_read_as_well(clip: Path) -> None:
    played = PlayedCamera(clip, f"udp://127.0.0.1:{free_port(socket.SOCK_DGRAM)}")
    played.plug_in()
    try:
        with open_source(played.url) as source:
            levels = [brightness(source) for _ in range(10)]
    finally:
        played.pull_out()
    assert len({round(level) for level in levels}) > 3


@needs_ffmpeg
def test_a_camera_that_vanished_is_opened_again_when_it_returns(camera: PlayedCamera) -> None:
    with open_source(camera.url) as source:
        first = source.read(timeout=10)
        camera.pull_out()
        wait_until(lambda: source.state.kind == "lost")
        wait_until(lambda: "(third try)" in source.state.words)
        while source.read(timeout=0.1) is not None:
            pass
        assert source.state.kind == "lost"
        camera.plug_in()
        again = source.read(timeout=30)
        assert source.state.kind == "playing"
        assert first is not None
        assert again is not None
        assert again.index > first.index
        assert again.time > first.time + 1.5


@needs_ffmpeg
def test_a_lost_camera_is_closed_quickly(camera: PlayedCamera) -> None:
    source = open_source(camera.url)
    camera.pull_out()
    wait_until(lambda: source.state.kind == "lost")
    began = time.monotonic()
    source.close()
    assert time.monotonic() - began < 2
    assert source.state.kind == "ended"
    assert source.read(timeout=10) is None


@needs_ffmpeg
def test_a_camera_that_stands_still_is_closed_without_waiting_for_it(camera: PlayedCamera) -> None:
    source = open_source(camera.url)
    camera.send(signal.SIGSTOP)
    time.sleep(0.3)
    began = time.monotonic()
    source.close()
    assert time.monotonic() - began < READ_SECONDS - 1
    source.close()


@needs_ffmpeg
def test_a_camera_that_stands_still_too_long_is_lost(camera: PlayedCamera) -> None:
    with open_source(camera.url) as source:
        camera.send(signal.SIGSTOP)
        wait_until(lambda: source.state.kind == "lost")


class Unsteady:
    """A capture over a real file that hides its rate and spoils every other picture."""

    def __init__(self, path: Path) -> None:
        self._capture = open_video(str(path))
        self._count = 0

    def isOpened(self) -> bool:  # noqa: N802  (as OpenCV spells it)
        return self._capture.isOpened()

    def get(self, setting: int) -> float:
        return float("nan") if setting == cv2.CAP_PROP_FPS else self._capture.get(setting)

    def grab(self) -> bool:
        time.sleep(0.01)
        self._count += 1
        return self._capture.grab()

    def retrieve(self) -> tuple[bool, object]:
        if self._count % 2 == 0:
            raise cv2.error("a corrupt frame")
        return self._capture.retrieve()

    def release(self) -> None:
        self._capture.release()


def no_camera() -> RankotomError:
    return RankotomError("there is no such camera")


def test_a_camera_without_a_rate_and_with_spoilt_frames_plays_on(clip: Path) -> None:
    with ReconnectingSource("camera 0", lambda: Unsteady(clip), no_camera) as source:
        assert source.fps is None
        frames = [source.read(timeout=10) for _ in range(5)]
    assert all(frame is not None for frame in frames)


def test_a_camera_that_ends_again_and_again_is_tried_with_growing_pauses(
    tmp_path: Path,
) -> None:
    """One picture, then a loss, each time: that it opened must not bring the short pause back."""
    path = tmp_path / "short.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), FPS, (160, 120))
    writer.write(np.zeros((120, 160, 3), dtype=np.uint8))
    writer.release()
    opened: list[float] = []

    def open_capture() -> cv2.VideoCapture:
        opened.append(time.monotonic())
        return open_video(str(path))

    with ReconnectingSource("camera 0", open_capture, no_camera):
        wait_until(lambda: len(opened) == 4)
    pauses = [later - earlier for earlier, later in pairwise(opened)]
    assert all(pause >= least for pause, least in zip(pauses, [0.5, 1, 2], strict=True))


class DropsOut:
    """A capture over a real file that plays for some seconds of the test's clock, then ends."""

    def __init__(self, path: Path, clock: list[float], seconds: float) -> None:
        self._capture, self._clock = open_video(str(path)), clock
        self._ends = clock[0] + seconds

    def isOpened(self) -> bool:  # noqa: N802  (as OpenCV spells it)
        return True

    def get(self, setting: int) -> float:
        return self._capture.get(setting)

    def grab(self) -> bool:
        self._clock[0] += 0.25
        return self._clock[0] < self._ends and self._capture.grab()

    def retrieve(self) -> tuple[bool, object]:
        return self._capture.retrieve()

    def release(self) -> None:
        self._capture.release()


def test_a_stream_that_plays_some_seconds_each_time_is_opened_again_soon_each_time(
    clip: Path,
) -> None:
    clock, opened = [0.0], []

    def open_capture() -> DropsOut:
        opened.append(time.monotonic())
        return DropsOut(clip, clock, seconds=2.5)

    with ReconnectingSource("a stream", open_capture, no_camera, clock=lambda: clock[0]):
        wait_until(lambda: len(opened) == 7)
    assert opened[-1] - opened[0] < 20  # six pauses of 0.5 s; they would have grown to 25.5 s


def test_the_long_pauses_of_a_dead_stream_do_not_stay_once_it_plays_some_seconds_each_time(
    clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconnecting_source, "FIRST_DELAY", 0.05)
    monkeypatch.setattr(reconnecting_source, "PLAYED_WELL", 0.7)
    clock, opened = [0.0], []

    def open_capture() -> cv2.VideoCapture | DropsOut:
        opened.append(time.monotonic())
        is_dead = 1 < len(opened) < 7  # until the pause is 1.6 s
        return open_video(str(tmp_path)) if is_dead else DropsOut(clip, clock, seconds=1.1)

    with ReconnectingSource("a stream", open_capture, no_camera, clock=lambda: clock[0]):
        wait_until(lambda: len(opened) == 13)
    pauses = [later - earlier for earlier, later in pairwise(opened)]
    assert pauses[5] > 1.5
    assert sum(pauses[6:]) < 5  # six pauses; they would have been 1.6 s, 3.2 s, 6.4 s, …


def test_the_longest_pause_can_be_chosen(clip: Path, tmp_path: Path) -> None:
    opened: list[float] = []

    def open_capture() -> cv2.VideoCapture:
        opened.append(time.monotonic())
        return open_video(str(tmp_path / "absent.avi") if len(opened) > 1 else str(clip))

    with ReconnectingSource("a stream", open_capture, no_camera, longest_delay=0.05):
        wait_until(lambda: len(opened) == 12)
    assert opened[-1] - opened[0] < 30  # with the usual pauses 75 s


def test_a_camera_that_does_not_open_is_an_error_and_not_a_retry(tmp_path: Path) -> None:
    tries = 0

    def open_capture() -> cv2.VideoCapture:
        nonlocal tries
        tries += 1
        return open_video(str(tmp_path / "absent.avi"))

    with pytest.raises(RankotomError, match="no such camera"):
        ReconnectingSource("camera 0", open_capture, no_camera)
    assert tries == 1


def played_out(clip: Path) -> cv2.VideoCapture:
    """Open, and without a picture."""
    capture = open_video(str(clip))
    while capture.grab():
        pass
    return capture


def test_a_stream_that_opens_before_it_has_a_picture_is_opened_again_for_it(clip: Path) -> None:
    openings = [played_out(clip), played_out(clip), open_video(str(clip))]
    with ReconnectingSource("a stream", lambda: openings.pop(0), no_camera, patience=15) as source:
        assert source.read(timeout=10) is not None


def test_the_patience_for_a_first_picture_has_an_end(clip: Path) -> None:
    began = time.monotonic()
    with pytest.raises(RankotomError, match="no such camera"):
        ReconnectingSource("a stream", lambda: played_out(clip), no_camera, patience=0.5)
    assert 0.5 <= time.monotonic() - began < 5


def test_the_pauses_grow_to_ten_seconds() -> None:
    pauses = [retry_delay(attempt) for attempt in (1, 2, 3, 4, 5, 6, 7, 2000)]
    assert pauses == [0.5, 1, 2, 4, 8, 10, 10, 10]


@pytest.mark.parametrize(
    ("attempt", "seconds", "words"),
    [
        (1, 0.5, "lost: opening it again in 1 s (first try)"),
        (3, 3.2, "lost: opening it again in 4 s (third try)"),
        (9, -0.1, "lost: opening it again now (ninth try)"),
        (10, 10, "lost: opening it again in 10 s (try 10)"),
        (42, 10, "lost: opening it again in 10 s (try 42)"),
    ],
)
def test_the_state_says_when_it_is_tried_again(attempt: int, seconds: float, words: str) -> None:
    assert lost_words(attempt, seconds) == words
