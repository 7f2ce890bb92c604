"""Signs of life for systemd, on a notify socket of ours."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rankotom_edge.live.key_actions import KeyActions
from rankotom_edge.live.loop import Stop, run_loop
from rankotom_edge.live.run_stats import RunStats
from rankotom_edge.live.service_manager import ServiceManager
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.sources import open_source
from rankotom_edge.views.no_view import NoView


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(60)
        yield listening


def environment(systemd: socket.socket, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": systemd.getsockname()} | more


def heard(systemd: socket.socket) -> list[bytes]:
    """Everything that was said so far."""
    said = []
    systemd.setblocking(False)
    try:
        while True:
            said.append(systemd.recv(100))
    except BlockingIOError:
        systemd.settimeout(60)
        return said


def test_it_is_ready_at_the_first_turn_and_lives_as_often_as_it_is_asked(
    systemd: socket.socket,
) -> None:
    with ServiceManager(environment(systemd, WATCHDOG_USEC="8000000")) as manager:
        for turn in range(61):
            manager(turn / 10)  # six seconds
    assert heard(systemd) == [b"READY=1", *[b"WATCHDOG=1"] * 4, b"STOPPING=1"]


def test_without_a_watchdog_it_is_ready_and_says_no_more(systemd: socket.socket) -> None:
    other = environment(systemd, WATCHDOG_USEC="8000000", WATCHDOG_PID="1")
    for asked in (environment(systemd), other):
        with ServiceManager(asked) as manager:
            for turn in range(100):
                manager(float(turn))
        assert heard(systemd) == [b"READY=1", b"STOPPING=1"]


def test_a_name_without_a_file_is_spoken_to_and_a_deaf_one_is_no_error(tmp_path: Path) -> None:
    name = f"rankotom-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0{name}")
        with ServiceManager({"NOTIFY_SOCKET": f"@{name}"}) as manager:
            manager(0.0)
        assert heard(listening) == [b"READY=1", b"STOPPING=1"]
    for nowhere in ({}, {"NOTIFY_SOCKET": str(tmp_path / "absent")}):
        with ServiceManager(nowhere) as manager:
            manager(0.0)


class Hanging:
    """A reader that hangs at its tenth frame, like a driver that does not answer."""

    model, precision, calibration = "none", "fp32", None

    def __init__(self) -> None:
        self.hangs, self.goes_on, self._frames = threading.Event(), threading.Event(), 0

    def read(self, frame: Any) -> Any:
        self._frames += 1
        if self._frames == 10:
            self.hangs.set()
            assert self.goes_on.wait(60)
        return FrameReadings(frame, (), Latency(1, 0, 2))


def test_a_loop_that_hangs_says_nothing(systemd: socket.socket) -> None:
    reader = Hanging()
    actions = KeyActions()

    def loop() -> None:
        asked = environment(systemd, WATCHDOG_USEC="40000")
        with open_source("demo", paced=True) as source, ServiceManager(asked) as manager:
            stats = RunStats(time.monotonic())
            run_loop(source, reader, NoView(), actions, stats, Stop(), duties=[manager])

    running = threading.Thread(target=loop)
    running.start()
    try:
        assert systemd.recv(100) == b"READY=1"
        assert systemd.recv(100) == b"WATCHDOG=1"
        assert reader.hangs.wait(60)
        heard(systemd)
        time.sleep(0.3)  # many times what it is asked for
        assert heard(systemd) == []
        reader.goes_on.set()
        assert systemd.recv(100) == b"WATCHDOG=1"
    finally:
        reader.goes_on.set()
        actions.quit = True
        running.join(60)


def test_the_program_is_ready_once_it_reads_and_says_so_when_it_stops(
    systemd: socket.socket,
) -> None:
    command = [sys.executable, "-m", "rankotom_edge", "camera", "--source", "demo"]
    asked = os.environ | environment(systemd, WATCHDOG_USEC="1000000")
    with subprocess.Popen([*command, "--view", "none"], env=asked, stderr=-3) as program:
        try:
            assert systemd.recv(100) == b"READY=1"
            assert systemd.recv(100) == systemd.recv(100) == b"WATCHDOG=1"
            program.terminate()
            assert program.wait(60) == 130
            assert heard(systemd)[-1] == b"STOPPING=1"
        finally:
            program.kill()
