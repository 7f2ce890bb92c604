"""The service behind a real server on loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed")
EXAMPLES = Path(__file__).parents[2] / "examples"
PATIENCE = 120.0


@pytest.fixture
def service(desk: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["uvicorn", "--app-dir", str(EXAMPLES), "web_service:app", "--port", str(port)]
    server = subprocess.Popen([sys.executable, "-m", *command], cwd=desk)
    try:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert server.poll() is None
                assert time.monotonic() < end
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/faces"
    finally:
        server.terminate()
        server.wait()


def post(url: str, body: bytes) -> tuple[int, Any]:
    request = urllib.request.Request(url, body, {"Content-Type": "image/jpeg"}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_a_picture_is_read_also_by_several_at_once(service: str, desk: Path) -> None:
    photo = (desk / "photo.jpg").read_bytes()
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: post(service, photo), range(8)))
    assert {status for status, _ in answers} == {200}
    assert all(answer == answers[0] for answer in answers)
    ((face,),) = [answers[0][1]]
    assert (face["top"], face["verdict"]) == ("happiness", "sure")
    assert len(face["probabilities"]) == 8


def test_what_is_no_picture_is_refused(service: str) -> None:
    assert post(service, b"no picture")[0] == 422
    assert post(service, b"")[0] == 422
    assert post(service, b"x" * 20_000_001)[0] == 413
