"""The receivers of docs/streams.md hear a real camera's program, each in a process of its own."""

from __future__ import annotations

import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PATIENCE = 120.0


class Program:
    """A process, and its lines as they come."""

    def __init__(self, *command: str, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=ROOT,
            env={**os.environ, **environment},
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.said = ""

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def wait_for(self, pattern: str) -> re.Match[str]:
        ends = time.monotonic() + PATIENCE
        while (found := re.search(pattern, self.said)) is None:
            try:
                self.said += self._lines.get(timeout=max(0.0, ends - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {pattern!r} in:\n{self.said}") from None
        return found


@contextmanager
def running(*command: str, **environment: str) -> Iterator[Program]:
    program = Program(*command, environment=environment)
    try:
        yield program
    finally:
        program.process.kill()
        program.process.wait()


def camera(*arguments: str, **environment: str) -> Any:
    demo = ["-m", "rankotom_edge", "camera", "--source", "demo"]
    return running(*demo, *arguments, **environment)


def example(name: str, *arguments: str, **environment: str) -> Any:
    return running(f"examples/streams/{name}_receiver.py", *arguments, **environment)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def test_the_mqtt_receiver_hears_the_camera_and_its_end(tmp_path: Path) -> None:
    pytest.importorskip("paho.mqtt", reason="paho-mqtt is not installed")
    if shutil.which("mosquitto") is None:
        pytest.skip("mosquitto is not installed")
    port = str(free_port())
    with subprocess.Popen(["mosquitto", "-p", port], stdout=-3, stderr=-3) as broker:
        try:
            ends = time.monotonic() + PATIENCE
            while True:
                try:
                    socket.create_connection(("127.0.0.1", int(port)), timeout=5).close()
                    break
                except OSError:
                    assert time.monotonic() < ends
            with (
                example("mqtt", "127.0.0.1", port, "hall") as receiver,
                camera("--view", "none", "--mqtt", f"mqtt://127.0.0.1:{port}/hall") as program,
            ):
                receiver.wait_for(r"online\n")
                receiver.wait_for(r"happiness, happiness \d+%\n")
                program.process.send_signal(signal.SIGINT)
                receiver.wait_for(r"offline\n")
                assert receiver.process.wait(PATIENCE) == 0
        finally:
            broker.kill()


def test_the_osc_receiver_hears_face_1() -> None:
    pytest.importorskip("pythonosc", reason="python-osc is not installed")
    port = str(free_port())
    with (
        example("osc", port) as receiver,
        camera("--view", "none", "--osc", f"127.0.0.1:{port}"),
    ):
        receiver.wait_for(r"happiness [01]\.\d\d\n")


def test_the_lsl_receiver_hears_the_camera_with_the_time_since_capture(tmp_path: Path) -> None:
    pytest.importorskip("pylsl", reason="pylsl is not installed", exc_type=ImportError)
    config = tmp_path / "lsl_api.cfg"
    config.write_text(
        "[multicast]\nResolveScope = machine\nAddressesOverride = {127.0.0.1}\n[log]\nlevel = -3\n"
        f"[lab]\nSessionID = {tmp_path.name}\n"
    )
    with (
        camera("--view", "none", "--lsl", LSLAPICFG=str(config)),
        example("lsl", LSLAPICFG=str(config)) as receiver,
    ):
        found = receiver.wait_for(r"face 1: happiness \d+%, (-?\d+\.\d\d) s ago\n")
    assert 0 <= float(found[1]) < PATIENCE


def test_the_websocket_receiver_hears_every_frame() -> None:
    pytest.importorskip("websockets", reason="websockets is not installed")
    with camera("--view", "web", "--port", "0") as program:
        link = program.wait_for(r"The page: http(://127\.0\.0\.1:\d+/)")[1]
        with example("websocket", f"ws{link}api/readings/socket") as receiver:
            receiver.wait_for(r"face 1: happiness \d+%\n")
