"""Attacks on the real server."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from rankotom_edge.views.web import server
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


def test_a_connection_without_a_request_is_closed(
    stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "IDLE_SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", stage.port), timeout=20) as reader:
        reader.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert reader.recv(1) == b""
    with stage.stream("/api/live") as stream:  # and a stream is not
        ends = time.monotonic() + 1
        while time.monotonic() < ends:
            stage.show()
            assert stream.recv(1 << 16)


def test_connections_have_a_limit_and_come_free_again(
    stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 4)
    held = [socket.create_connection(("127.0.0.1", stage.port), timeout=20) for _ in range(4)]
    time.sleep(0.2)
    with pytest.raises(ConnectionError):
        stage.ask("/healthz")
    for connection in held:
        connection.close()
    time.sleep(0.2)
    assert stage.ask("/api/meta").status == 200


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
