from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from rankotom_edge.sources.cancellable_open import CancellableOpen
from rankotom_edge.sources.opencv_capture import open_video


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    path = tmp_path / "clip.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 20, (64, 48))
    writer.write(np.zeros((48, 64, 3), dtype=np.uint8))
    writer.release()
    return path


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes a connection and says nothing."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/cam.mjpg"


def test_what_opens_is_returned(clip: Path) -> None:
    capture = CancellableOpen(lambda: open_video(str(clip)), 15).wait(lambda: True)
    assert capture.isOpened()
    capture.release()


def test_an_error_while_opening_is_raised_in_the_waiting_thread() -> None:
    def fail() -> cv2.VideoCapture:
        raise cv2.error("no memory for it")

    with pytest.raises(cv2.error, match="no memory"):
        CancellableOpen(fail, 15).wait(lambda: True)


def test_what_opens_after_it_was_given_up_is_released(clip: Path) -> None:
    answer, opened = threading.Event(), []

    def open_late() -> cv2.VideoCapture:
        answer.wait()
        opened.append(open_video(str(clip)))
        return opened[0]

    before = threading.active_count()
    assert not CancellableOpen(open_late, 15).wait(lambda: False).isOpened()
    answer.set()
    deadline = time.monotonic() + 30
    while threading.active_count() > before:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert not opened[0].isOpened()


def test_an_open_that_is_about_to_time_out_is_waited_for(clip: Path) -> None:
    def open_late() -> cv2.VideoCapture:
        time.sleep(1.5)
        return open_video(str(clip))

    capture = CancellableOpen(open_late, 1.5).wait(lambda: False)
    assert capture.isOpened()
    capture.release()


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_while_a_stream_connects_ends_soon_and_quietly(
    silent: str, times: int
) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "rankotom_edge", "camera", "--source", silent, "--view", "none"],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_for_connection(silent)
        began = time.monotonic()
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (130, "")
    assert time.monotonic() - began < 4


def wait_for_connection(url: str) -> None:
    """By the system's own list: the server does not look at it."""
    port = f":{int(url.split(':')[2].split('/')[0]):04X}"
    deadline = time.monotonic() + 30
    while True:
        rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        if any(row[2].endswith(port) and row[3] == "01" for row in rows):
            return
        assert time.monotonic() < deadline
        time.sleep(0.05)
