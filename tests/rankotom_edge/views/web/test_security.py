"""Attacks on the real server."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from typing import Any

import pytest

from rankotom_edge.views.web import connections, server
from rankotom_edge.views.web.security import HEADERS

EVERYTHING = (
    "/", "/page.js", "/style.css", "/video", "/api/live", "/api/readings", "/api/readings/socket",
    "/api/meta", "/healthz", "/metrics", "/no-such-page",
)  # fmt: skip


@pytest.mark.parametrize("path", EVERYTHING)
def test_without_the_token_there_is_nothing(guarded: Any, path: str) -> None:
    answer = guarded.ask(path)
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer a-token"},
        {"Authorization": "Bearer {token}x"},
        {"Authorization": "Basic {token}"},
        {"Authorization": "{token}"},
        {"Authorization": "Bearer \xff\xfe"},
        {"Cookie": "rankotom-{port}="},
        {"Cookie": "rankotom-{port}=a-token-that-nobody-guesseS"},
        {"Cookie": "rankotom-1={token}"},
        {"Cookie": 'rankotom-{port}="'},
        {"X-Forwarded-For": "127.0.0.1"},
    ],
)
def test_a_wrong_token_is_refused(guarded: Any, token: str, headers: dict[str, str]) -> None:
    filled = {name: each.format(token=token, port=guarded.port) for name, each in headers.items()}
    assert guarded.ask("/api/meta", headers=filled).status == 401


def test_the_token_works_as_a_header(guarded: Any, token: str) -> None:
    for path in ("/", "/api/meta", "/metrics"):
        assert guarded.ask(path, headers={"Authorization": f"Bearer {token}"}).status == 200


def test_the_link_becomes_a_cookie_that_no_script_can_read(guarded: Any, token: str) -> None:
    answer = guarded.ask(f"/?token={token}")
    assert answer.status == 200
    assert token.encode() not in answer.body
    cookie, *settings = answer.headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(settings)
    assert guarded.ask("/api/meta", headers={"Cookie": cookie}).status == 200


@pytest.mark.parametrize(
    "other",
    ['prefs={"a":1}', "theme=dark mode", "flag", "a[b]=1", "path=1", "rankotom-{port}=wrong"],
)
def test_cookies_of_other_programs_on_this_host_lock_nobody_out(
    guarded: Any, token: str, other: str
) -> None:
    ours = f"rankotom-{guarded.port}={token}"
    theirs = other.replace("{port}", str(guarded.port))
    for cookies in (f"{theirs}; {ours}", f"{ours}; {theirs}"):
        assert guarded.ask("/api/meta", headers={"Cookie": cookies}).status == 200


def test_the_token_in_an_address_opens_the_page_alone(guarded: Any, token: str) -> None:
    assert guarded.ask(f"/api/meta?token={token}").status == 401
    assert guarded.ask("/?token=wrong").status == 401
    assert "set-cookie" not in guarded.ask("/?token=wrong").headers


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "127.0.0.1.evil.example", "10.1.2.3", "", "[::", "[::1].evil.example",
        "127.0.0.1:1@evil.example", "localhost.evil.example:80",
    ],
)  # fmt: skip
def test_a_name_that_another_site_led_here_is_refused(quiet: Any, host: str) -> None:
    """DNS rebinding: evil.example, resolved to 127.0.0.1, is same-origin to its own page."""
    for path in ("/", "/api/readings", "/video"):
        assert quiet.ask(path, headers={"Host": host}).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://127.0.0.1:{port}.evil.example"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
        {
            "Origin": "https://evil.example",
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        },
    ],
)
def test_another_site_reads_nothing_and_presses_nothing(
    quiet: Any, headers: dict[str, str]
) -> None:
    filled = {name: each.format(port=quiet.port) for name, each in headers.items()}
    for path in ("/api/readings", "/api/meta", "/video"):
        assert quiet.ask(path, headers=filled).status == 403
    # A WebSocket cannot be opened with POST, whoever asks.
    status = quiet.ask("/api/keys/q", "POST", filled).status
    assert status == (405 if "Upgrade" in headers else 403)
    assert quiet.view.key() is None


def test_a_link_on_another_site_may_lead_here(quiet: Any) -> None:
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert quiet.ask("/", headers=followed | {"Sec-Fetch-Dest": "document"}).status == 200
    assert quiet.ask("/video", headers=followed | {"Sec-Fetch-Dest": "document"}).status == 403


def test_the_page_itself_is_no_other_site(quiet: Any) -> None:
    own = {"Origin": f"http://127.0.0.1:{quiet.port}", "Sec-Fetch-Site": "same-origin"}
    assert quiet.ask("/api/keys/b", "POST", own).status == 204
    assert quiet.view.key() == "b"


def test_every_answer_carries_the_headers_that_bind_a_browser(guarded: Any, token: str) -> None:
    allowed = {"Authorization": f"Bearer {token}"}
    for path in ("/", "/page.js", "/healthz", "/no-such-page"):
        for headers in ({}, allowed):
            answer = guarded.ask(path, headers=headers)
            assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
            assert "access-control-allow-origin" not in answer.headers
            assert "server" not in answer.headers


def test_the_page_needs_nothing_that_its_policy_forbids(quiet: Any) -> None:
    page = quiet.ask("/").body.decode()
    assert "style=" not in page
    assert "<style" not in page
    assert "onclick" not in page
    assert page.count("<script") == page.count('<script type="module" src="/') == 1
    for name in ("/", "/page.js", "/faces.js", "/charts.js", "/style.css", "/icon.svg"):
        text = quiet.ask(name).body.decode().replace("http://www.w3.org/", "")
        assert "http:" not in text
        assert "https:" not in text


@pytest.mark.parametrize(
    ("method", "body", "headers", "status"),
    [
        ("POST", b"x", {}, 413),
        ("GET", b"x" * 100_000, {}, 413),
        ("POST", None, {"Content-Length": "10000000000"}, 413),
        ("POST", b"1\r\nx\r\n0\r\n\r\n", {"Transfer-Encoding": "chunked"}, 413),
        ("PUT", None, {}, 405),
        ("HEAD", None, {}, 405),
        ("OPTIONS", None, {}, 405),
        ("TRACE", None, {}, 405),
    ],
)
def test_no_request_takes_a_body_or_another_method(
    quiet: Any, method: str, body: bytes | None, headers: dict[str, str], status: int
) -> None:
    assert quiet.ask("/api/keys/q", method, headers, body).status == status
    assert quiet.view.key() is None


def test_headers_without_end_are_refused(quiet: Any) -> None:
    with socket.create_connection(("127.0.0.1", quiet.port), timeout=20) as reader:
        reader.sendall(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * 64 * 1024)
        assert reader.recv(100).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("size", [20_000, 200_000])
def test_headers_that_arrive_whole_and_at_once_have_the_same_limit(quiet: Any, size: int) -> None:
    """h11 alone limits only what arrives in parts."""
    assert quiet.ask("/api/meta", headers={"X-Long": "x" * size}).status == 400
    assert quiet.ask("/api/meta", headers={"X-Long": "x" * 10_000}).status == 200


def test_requests_that_are_sent_before_the_answer_to_the_last_one_have_a_limit(stage: Any) -> None:
    with stage.stream("/api/live") as stream:
        assert stream.recv(100)
        stream.sendall(f"GET / HTTP/1.1\r\nX-Long: {'x' * 64 * 1024}\r\n\r\n".encode())
        with suppress(ConnectionError):
            while stream.recv(1 << 16):
                stage.show()


def test_a_connection_without_a_request_is_closed(
    stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "FIRST_BYTE_SECONDS", 0.3)
    monkeypatch.setattr(server, "HEADER_SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", stage.port), timeout=20) as silent:
        assert silent.recv(1) == b""
    with (
        socket.create_connection(("127.0.0.1", stage.port), timeout=20) as dripping,
        pytest.raises(ConnectionError),
    ):
        drip(dripping)
    with stage.stream("/api/live") as stream:  # and a stream is not
        ends = time.monotonic() + 1
        while time.monotonic() < ends:
            stage.show()
            assert stream.recv(1 << 16)


def drip(connection: socket.socket) -> None:
    """Each byte would bring the time limit back, if it were one of idling."""
    for _ in range(10_000):
        connection.sendall(b"X")
        time.sleep(0.02)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.7"])
@pytest.mark.parametrize("said", [b"", b"GET / HTTP/1.1\r\nHost: ", b"GET /x HTTP/1.1\r\n\r\n"])
def test_two_hundred_idle_connections_keep_nobody_out(
    guarded: Any, token: str, address: str, said: bytes
) -> None:
    """From the owner's address, or from another, and opened again as soon as they are closed."""
    owner = {"Authorization": f"Bearer {token}"}
    over, opened = threading.Event(), []

    def flood() -> None:
        held: list[socket.socket] = []
        while not over.is_set():
            if len(held) >= 50:
                held.pop(0).close()
            with suppress(OSError):
                held.append(
                    socket.create_connection(
                        ("127.0.0.1", guarded.port), timeout=2, source_address=(address, 0)
                    )
                )
                held[-1].sendall(said)
                opened.append(1)
        for each in held:
            each.close()

    flooding = [threading.Thread(target=flood) for _ in range(4)]
    for thread in flooding:
        thread.start()
    try:
        answers = []
        while len(answers) < 12 or len(opened) < 400:
            answers.append(guarded.ask("/api/meta", headers=owner).status)
            assert len(answers) < 5000
    finally:
        over.set()
        for thread in flooding:
            thread.join()
    assert set(answers) == {200}


def test_an_owner_whose_request_takes_its_time_is_not_pushed_out_from_the_same_address(
    guarded: Any, token: str
) -> None:
    """As through ``ssh -L``, which connects at once and brings the request a round trip later."""
    at = "127.0.0.1", guarded.port
    with socket.create_connection(at, timeout=20) as owner:
        others = [socket.create_connection(at, timeout=20) for _ in range(200)]
        for each in others:
            each.sendall(b"G")
        assert guarded.ask("/api/meta").status == 401  # they were all accepted
        owner.sendall(f"GET /api/meta HTTP/1.1\r\nHost: {at[0]}\r\nAuthorization: ".encode())
        owner.sendall(f"Bearer {token}\r\n\r\n".encode())
        assert owner.recv(100).startswith(b"HTTP/1.1 200 ")
        for each in others:
            each.close()


def test_connections_of_the_owner_have_a_limit_and_come_free_again(
    make_stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connections.ADMITTED, "owner", 4)
    stage = make_stage()
    held = [stage.stream("/api/live") for _ in range(4)]
    for stream in held:
        assert stream.recv(10)
    assert stage.ask("/healthz").status == 503
    for stream in held:
        stream.close()
    stage.show_until(lambda: stage.ask("/api/meta").status == 200)


def test_viewers_see_everything_and_press_nothing(guarded: Any) -> None:
    viewer = {"Authorization": f"Bearer {guarded.address.viewer_token}"}
    for path in ("/", "/api/meta", "/metrics", "/page.js"):
        assert guarded.ask(path, headers=viewer).status == 200
    for key in ("q", "r", "s", "b"):
        assert guarded.ask(f"/api/keys/{key}", "POST", headers=viewer).status == 403
    assert guarded.view.key() is None
    cookie = guarded.ask(f"/?token={guarded.address.viewer_token}").headers["set-cookie"]
    assert guarded.ask("/api/meta", headers={"Cookie": cookie.split(";")[0]}).status == 200


def test_viewers_leave_streams_and_connections_to_the_owner(
    make_stage: Any, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setattr("rankotom_edge.views.web.relay.MAX_STREAMS", 3)
    monkeypatch.setattr("rankotom_edge.views.web.relay.OWNERS_STREAMS", 2)
    stage = make_stage(token=token)
    viewer = {"Authorization": f"Bearer {stage.address.viewer_token}"}
    owner = {"Authorization": f"Bearer {token}"}
    with stage.stream("/api/live", viewer) as first:
        assert first.recv(10)
        assert stage.ask("/api/live", headers=viewer).status == 503
        assert stage.ask("/api/live", headers=owner).status == 200
    monkeypatch.setitem(connections.ADMITTED, "viewer", 0)
    assert stage.ask("/api/meta", headers=viewer).status == 503
    assert stage.ask("/api/meta", headers=owner).status == 200


def test_wrong_tokens_are_told_to_wait_and_the_right_one_is_not(
    make_stage: Any, token: str
) -> None:
    stage = make_stage(token=token)
    owner = {"Authorization": f"Bearer {token}"}
    tried = [
        stage.ask("/api/meta", headers={"Authorization": f"Bearer {number:032}"})
        for number in range(connections.GUESSES + 5)
    ]
    statuses = [answer.status for answer in tried]
    assert statuses == [401] * connections.GUESSES + [429] * 5
    assert tried[-1].headers["retry-after"] == "60"
    assert stage.ask("/", headers={"Cookie": f"rankotom-{stage.port}=x"}).status == 429
    assert stage.ask("/").status == 401  # no token is no guess
    assert stage.ask("/api/meta", headers=owner).status == 200


def test_streams_have_a_limit_and_come_free_again(
    stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankotom_edge.views.web.relay.MAX_STREAMS", 2)
    held = [stage.stream("/api/live") for _ in range(2)]
    for reader in held:
        assert reader.recv(10)
    stage.show_until(lambda: stage.ask("/api/readings").status == 503)
    for reader in held:
        reader.close()
    assert next(stage.events("/api/readings"))["faces"] == []


def test_nothing_that_is_said_holds_the_token(
    guarded: Any, token: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    for path in (f"/?token={token}", f"/video?token={token}", f"/{token}"):
        guarded.ask(path)
    said = capfd.readouterr()
    assert token not in said.out + said.err + caplog.text
