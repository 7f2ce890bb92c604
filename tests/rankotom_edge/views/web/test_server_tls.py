"""The page over HTTPS, with a certificate made for the test."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import ssl
import subprocess
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from calib.errors import RankotomError
from rankotom_edge.views.web import server
from rankotom_edge.views.web.address import Access, listen


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes a certificate, is not installed")
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    named = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(cert)]
    subprocess.run(["openssl", *words.split(), *named, *files], capture_output=True, check=True)
    return cert, key


@pytest.fixture
def secure(certificate: tuple[Path, Path], stage_on: Any) -> Iterator[Any]:
    return stage_on(listen(port=0, access=Access(True, None, *certificate)))


def ask(stage: Any, certificate: Path, path: str, headers: dict[str, str] | None = None) -> Any:
    context = ssl.create_default_context(cafile=str(certificate))
    connection = http.client.HTTPSConnection("127.0.0.1", stage.port, timeout=20, context=context)
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        answer.read()
        return answer
    finally:
        connection.close()


def test_the_page_is_served_over_https_alone(secure: Any, certificate: tuple[Path, Path]) -> None:
    token = secure.address.token
    assert secure.address.links == (f"https://127.0.0.1:{secure.port}/?token={token}",)
    assert ask(secure, certificate[0], "/api/meta").status == 401
    allowed = {"Authorization": f"Bearer {token}", "Origin": f"https://127.0.0.1:{secure.port}"}
    assert ask(secure, certificate[0], "/api/meta", allowed).status == 200
    cookie = ask(secure, certificate[0], f"/?token={token}").headers["set-cookie"]
    assert "Secure" in cookie.split("; ")
    with pytest.raises((ConnectionError, http.client.BadStatusLine)):
        secure.ask("/")


def test_clients_that_do_not_agree_on_tls_keep_nobody_out(
    secure: Any, certificate: tuple[Path, Path]
) -> None:
    allowed = {"Authorization": f"Bearer {secure.address.token}"}
    held = []
    for number in range(200):
        held.append(socket.create_connection(("127.0.0.1", secure.port), timeout=20))
        if number % 2:
            with suppress(ConnectionError):
                held[-1].sendall(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a hello
    assert ask(secure, certificate[0], "/api/meta", allowed).status == 200
    for client in held:
        client.close()


def test_a_connection_that_has_not_agreed_on_tls_takes_little_memory(
    secure: Any, certificate: tuple[Path, Path]
) -> None:
    allowed = {"Authorization": f"Bearer {secure.address.token}"}
    ask(secure, certificate[0], "/api/meta", allowed)
    tracemalloc.start()
    try:
        held = [socket.create_connection(("127.0.0.1", secure.port)) for _ in range(50)]
        assert ask(secure, certificate[0], "/api/meta", allowed).status == 200  # after all of them
        assert tracemalloc.get_traced_memory()[0] < 50 * 100_000
    finally:
        tracemalloc.stop()
    for client in held:
        client.close()


def test_a_client_that_says_nothing_of_tls_is_closed(
    secure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "FIRST_BYTE_SECONDS", 0.3)
    began = time.monotonic()
    client = socket.create_connection(("127.0.0.1", secure.port), timeout=30)
    with client, suppress(ConnectionError):
        assert client.recv(1) == b""
    assert time.monotonic() - began < 20


def test_a_certificate_that_cannot_be_used_is_one_clear_error(
    certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    cert, key = certificate
    text = tmp_path / "text.pem"
    text.write_text("no certificate")
    text.chmod(0o600)
    locked = tmp_path / "locked.pem"
    command = f"openssl ec -in {key} -aes256 -passout pass:secret -out {locked}"
    subprocess.run(command.split(), capture_output=True, check=True)
    locked.chmod(0o600)
    fifo = tmp_path / "fifo.pem"
    os.mkfifo(fifo, 0o600)
    shown = tmp_path / "shown.pem"
    shown.write_bytes(key.read_bytes())
    shown.chmod(0o644)
    for access, words in (
        (Access(tls_cert=text, tls_key=key), "Cannot use .*text.pem for TLS"),
        (Access(tls_cert=cert, tls_key=text), "Cannot use .* for TLS"),
        (Access(tls_cert=cert, tls_key=locked), "without a password"),
        (Access(tls_cert=cert, tls_key=shown), "chmod o-r .*shown.pem"),
        (Access(tls_cert=tmp_path / "absent.pem", tls_key=key), "absent.pem"),
        (Access(tls_cert=cert, tls_key=tmp_path / "absent.pem"), "absent.pem"),
        (Access(tls_cert=tmp_path), "Cannot"),
        (Access(tls_cert=fifo, tls_key=key), "fifo.pem: it is not an ordinary file"),
        (Access(tls_cert=cert, tls_key=fifo), "fifo.pem: it is not an ordinary file"),
        (Access(tls_cert=Path("/dev/zero")), "not an ordinary file"),
    ):
        with pytest.raises(RankotomError, match=words):
            listen(port=0, access=access)
