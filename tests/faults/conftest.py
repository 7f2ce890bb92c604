"""A camera that misbehaves, the program that reads it, and the table that ``make faults`` prints.

``RANKOTOM_FAULTS=1`` runs every fault as often as the table says; otherwise a few of each.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import cv2
import numpy as np
import pytest
from rich.console import Console
from rich.table import Table

from rankotom_edge.recording.session import Session

MANY = bool(os.environ.get("RANKOTOM_FAULTS"))
FPS = 20


@pytest.fixture
def times() -> Callable[[int, int], int]:
    """So often in ``make faults``, and so often in ``make test``."""
    return lambda many, few: many if MANY else few


@pytest.fixture(scope="session")
def report() -> Iterator[Callable[[str, str, str, int], None]]:
    """Takes the rows of the table: fault, load held, how many survived, bytes lost."""
    table = Table("fault", "load held", "survived", "bytes lost")
    yield lambda fault, load, survived, lost: table.add_row(fault, load, survived, f"{lost:,}")
    if table.row_count:
        Console(width=120).print("\n", table)


@pytest.fixture
def wait_until() -> Callable[..., None]:
    def wait(happened: Callable[[], object], what: str, seconds: float = 120) -> None:
        deadline = time.monotonic() + seconds
        while not happened():
            assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
            time.sleep(0.02)

    return wait


@pytest.fixture
def camera_program() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts ``rankotom-edge camera``; what a test leaves running is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "rankotom_edge", "camera", *map(str, arguments)]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True))
        return started[-1]

    yield start
    for program in started:
        program.kill()
        program.communicate()


@pytest.fixture
def unreadable_bytes() -> Callable[[Session], int]:
    """Of a session's readings: what follows the last frame that can be read."""

    def count(session: Session) -> int:
        content = (session.folder / "readings.jsonl").read_bytes()
        lines = content.splitlines(keepends=True)
        return len(content) - sum(map(len, lines[: sum(1 for _ in session.frames())]))

    return count


class BadCamera:
    """Serves pictures over HTTP; unless it is told to be good, each connection has a fault."""

    def __init__(self, kind: str, small: list[bytes], large: list[bytes]) -> None:
        """``small`` and ``large``: the parts of a stream in two resolutions."""
        self.kind, self._small, self._large = kind, small, large
        self.losses, self.good = 0, True
        self.faults: dict[str, int] = {}
        self._random = random.Random(0)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._closing = False
        end = "mjpg" if kind == "mjpeg" else "ts"
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/camera.{end}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._closing = True
        with suppress(OSError), socket.create_connection(self._socket.getsockname(), timeout=1):
            pass
        self._thread.join(30)
        self._socket.close()

    def _serve(self) -> None:
        faults = itertools.cycle(
            ["cut", "garbage", "resolution", "refused", "torn", "larger"] * 4 + ["stall"]
        )
        while not self._closing:
            connection, _ = self._socket.accept()
            with connection, suppress(OSError):
                connection.settimeout(10)
                connection.recv(1 << 16)
                if self.good:
                    self._answer(connection)
                    while self.good and not self._closing:
                        self._play(connection, self._small)
                    continue
                fault = next(faults)
                self.losses += 1
                self.faults[fault] = self.faults.get(fault, 0) + 1
                self._misbehave(connection, fault)

    def _misbehave(self, connection: socket.socket, fault: str) -> None:
        if fault == "refused":
            connection.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
            return
        self._answer(connection)
        if fault == "larger":
            self._play(connection, self._large)
            return
        self._play(connection, self._small[: len(self._small) // 2])
        if fault == "garbage":
            connection.sendall(self._random.randbytes(200_000))
        elif fault == "resolution":
            self._play(connection, self._large)
        elif fault == "torn":
            part = self._small[-1]
            connection.sendall(part[: len(part) // 2])
        elif fault == "stall":  # longer than the program waits for a picture
            time.sleep(4)

    def _answer(self, connection: socket.socket) -> None:
        kind = "video/mp2t" if self.kind == "mpegts" else "multipart/x-mixed-replace; boundary=b"
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n\r\n".encode())

    def _play(self, connection: socket.socket, parts: list[bytes]) -> None:
        for part in parts:
            connection.sendall(part)
            time.sleep(1 / (4 * FPS))


def jpeg_parts(width: int, height: int) -> list[bytes]:
    parts = []
    for number in range(20):
        image = np.full((height, width, 3), 6 * number, np.uint8)
        jpeg = cv2.imencode(".jpg", image)[1].tobytes()
        head = f"--b\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}\r\n\r\n"
        parts.append(head.encode() + jpeg + b"\r\n")
    return parts


def ts_parts(width: int, height: int, folder: Path) -> list[bytes]:
    path = folder / f"{width}.ts"
    source = f"testsrc=size={width}x{height}:rate={FPS}:duration=2"
    encoded = "-c:v mpeg2video -g 5 -q:v 4 -f mpegts"
    command = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", source, *encoded.split(), str(path)]
    subprocess.run(command, check=True)
    content, packets = path.read_bytes(), 188 * 64
    return [content[start : start + packets] for start in range(0, len(content), packets)]


@pytest.fixture(params=["mjpeg", "mpegts"])
def bad_camera(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BadCamera]:
    if request.param == "mjpeg":
        made = [jpeg_parts(160, 120), jpeg_parts(320, 240)]
    elif shutil.which("ffmpeg") is None:
        pytest.skip("ffmpeg, which makes a transport stream, is not installed")
    else:
        folder = tmp_path_factory.mktemp("ts")
        made = [ts_parts(160, 120, folder), ts_parts(320, 240, folder)]
    camera = BadCamera(request.param, *made)
    yield camera
    camera.close()
