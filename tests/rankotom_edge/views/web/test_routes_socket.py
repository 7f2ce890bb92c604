"""The readings over a WebSocket: the same as the events, behind the same guard."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

client = pytest.importorskip("websockets.sync.client", reason="websockets is not installed")
from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: E402

from rankotom_edge.views.web import relay  # noqa: E402

PATH = "/api/readings/socket"


def connect(stage: Any, path: str = PATH, **headers: str) -> Any:
    return client.connect(
        f"ws://127.0.0.1:{stage.port}{path}",
        additional_headers={name.replace("_", "-"): each for name, each in headers.items()},
        open_timeout=60,
        proxy=None,
    )


def status_of_refusal(stage: Any, path: str = PATH, **headers: str) -> int:
    with pytest.raises(InvalidStatus) as refused:
        connect(stage, path, **headers)
    return int(refused.value.response.status_code)


def next_message(stage: Any, opened: Any, *readings: Any) -> Any:
    def received() -> Any:
        try:
            return opened.recv(timeout=0.05)
        except TimeoutError:
            return None

    return json.loads(stage.show_until(received, *readings))


def counts(stage: Any) -> dict[str, float]:
    text = stage.ask("/metrics").body.decode()
    pattern = r'^rankotom_stream_(\w+)\{stream="websocket"\} (\S+)$'
    return {name: float(value) for name, value in re.findall(pattern, text, re.MULTILINE)}


def test_a_program_gets_the_recorders_lines(stage: Any, showing: Any) -> None:
    reading = showing.reading(happiness=0.9)
    with connect(stage) as opened:
        first = next_message(stage, opened, reading)
        second = next_message(stage, opened, reading)
        shown = stage.show(reading).as_json()
        assert counts(stage)["connected"] == 1
    assert first.keys() == shown.keys()
    assert first["faces"] == json.loads(json.dumps(shown["faces"]))
    assert second["frame"] > first["frame"]
    stage.show_until(lambda: counts(stage)["connected"] == 0)
    assert counts(stage)["sent_total"] >= 2


def test_without_the_token_there_is_no_socket_and_nothing_is_logged(
    guarded: Any, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert status_of_refusal(guarded) == 401
    assert status_of_refusal(guarded, Authorization="Bearer wrong") == 401
    assert status_of_refusal(guarded, f"{PATH}?token={token}") == 401
    assert caplog.records == []
    with connect(guarded, Authorization=f"Bearer {token}"):
        pass
    with connect(guarded, Cookie=f"rankotom-{guarded.port}={token}"):
        pass


def test_a_page_of_another_site_gets_no_socket_and_our_own_does(quiet: Any) -> None:
    assert status_of_refusal(quiet, Origin="https://evil.example") == 403
    assert status_of_refusal(quiet, Origin="null") == 403
    with connect(quiet, Origin=f"http://127.0.0.1:{quiet.port}"):
        pass


@pytest.mark.parametrize("path", ["/api/readings", "/api/keys/q", "/", "/no-such-page"])
def test_nothing_else_is_a_socket(quiet: Any, path: str) -> None:
    assert status_of_refusal(quiet, path) in (403, 404)


def test_a_socket_counts_as_a_stream_and_there_are_only_so_many(
    stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "MAX_STREAMS", 1)
    with connect(stage):
        stage.show_until(lambda: counts(stage)["connected"] == 1)
        assert status_of_refusal(stage) == 503


def test_a_client_that_does_not_read_misses_frames_that_are_counted(
    stage: Any, showing: Any
) -> None:
    crowd = [showing.reading(happiness=0.9)] * 100
    with socket.create_connection(("127.0.0.1", stage.port), timeout=60) as stalled:
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        stalled.sendall(
            f"GET {PATH} HTTP/1.1\r\nHost: 127.0.0.1:{stage.port}\r\nConnection: Upgrade\r\n"
            "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
        )
        stage.show_until(lambda: counts(stage)["connected"] == 1)

        def stands_still() -> bool:
            before = counts(stage)["sent_total"]
            for _ in range(30):
                stage.show(*crowd)
                time.sleep(0.01)
            return counts(stage)["sent_total"] == before > 0

        stage.show_until(stands_still)
        frames = stage.frames
        assert frames > counts(stage)["sent_total"] + 10
        while counts(stage)["dropped_total"] == 0:  # it reads again, and finds what it missed
            assert stalled.recv(1 << 20)
            stage.show(*crowd)


def test_what_a_client_says_is_not_kept(stage: Any, showing: Any) -> None:
    with connect(stage) as opened:
        for _ in range(100):
            opened.send("x" * 500)
        assert next_message(stage, opened, showing.reading())["faces"]
        opened.send("x" * 100_000)
        ends = time.monotonic() + 60
        with suppress(ConnectionClosed):
            while time.monotonic() < ends:
                next_message(stage, opened, showing.reading())
        assert opened.close_code == 1009


def test_the_program_ends_although_a_client_does_not_read(
    make_stage: Callable[..., Any], showing: Any
) -> None:
    stage = make_stage()
    with connect(stage) as opened:
        next_message(stage, opened, showing.reading())
        stage.view.close()
        assert stage.view.closed


UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}


@pytest.mark.parametrize(
    "odd",
    [
        {"Content-Length": "5"},
        {"Transfer-Encoding": "chunked"},
        {"X-Long": "x" * 9000},
        {f"X-{number}": "many" for number in range(150)},
    ],
)
def test_a_request_that_is_none_to_websockets_is_answered_and_holds_no_connection(
    guarded: Any, odd: dict[str, str]
) -> None:
    with guarded.stream(PATH, UPGRADE | odd) as asking:
        assert asking.recv(100).startswith(b"HTTP/1.1 400 ")
        while asking.recv(100):
            pass


def test_a_client_that_sends_pings_and_reads_no_answer_is_closed(stage: Any) -> None:
    """The answers would be held for it, in as much memory as it likes."""
    ping = b"\x89\xfd" + bytes(4) + bytes(125)
    with stage.stream(PATH, UPGRADE) as rude:
        rude.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        assert rude.recv(100).startswith(b"HTTP/1.1 101 ")
        with pytest.raises(ConnectionError):
            rude.sendall(ping * 100_000)
    assert stage.ask("/api/meta").status == 200
