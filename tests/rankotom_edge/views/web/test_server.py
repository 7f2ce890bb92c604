"""The real server: slow clients, and how it ends."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest


def test_a_client_that_takes_nothing_holds_up_neither_the_loop_nor_the_others(
    stage: Any, showing: Any
) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (480, 640, 3), dtype=np.uint8)
    latest = showing.frame_readings(showing.reading(happiness=0.9))
    heavy = replace(latest, frame=replace(latest.frame, image=noise))
    stalled = [stage.stream("/video"), stage.stream("/api/readings")]
    slowest = 0.0
    for _ in range(150):
        began = time.monotonic()
        stage.view.show(showing.display(replace(heavy)))
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.01)
    assert slowest < 1
    held = sum(_waiting_bytes(client) for client in stalled)
    assert held < 1_500_000  # what the kernels took; we hold a picture at most
    assert next(stage.events("/api/readings"))["frame"] >= 0
    for client in stalled:
        client.close()


def _waiting_bytes(client: socket.socket) -> int:
    client.setblocking(False)
    count = 0
    try:
        while taken := len(client.recv(1 << 20)):
            count += taken
            time.sleep(0.005)
    except BlockingIOError:
        return count
    return count


def test_it_ends_with_clients_attached_and_leaves_the_port_and_no_thread(
    make_stage: Callable[..., Any], showing: Any
) -> None:
    before = threading.active_count()
    stage = make_stage()
    held = [stage.stream(path) for path in ("/video", "/api/live", "/api/readings", "/video")]
    for _ in range(20):
        stage.show(showing.reading(happiness=0.9))
        time.sleep(0.01)
    assert not stage.view.closed
    began = time.monotonic()
    stage.view.close()
    assert time.monotonic() - began < 5
    assert stage.view.closed
    assert threading.active_count() == before
    again = make_stage(port=stage.port)
    assert again.ask("/api/meta").status == 200
    for client in held:
        client.close()


def test_a_request_that_is_too_long_after_the_last_answer_is_no_error(
    stage: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The first asks to close, and the next one, sent with it, has a header without end."""
    first = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{stage.port}\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", stage.port), timeout=20) as client:
        client.sendall(f"{first}GET / HTTP/1.1\r\nX: {'x' * 40_000}".encode())
        answer = b""
        with suppress(ConnectionError):
            while part := client.recv(65536):
                answer += part
    assert answer.startswith(b"HTTP/1.1 200") or not answer
    assert stage.ask("/api/meta").status == 200
    assert not caplog.records
