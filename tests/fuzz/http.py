"""Requests to the real page of ``camera --view web``, on this machine."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.fuzz.mutations import WORDS, damage

PATHS = ("/", "/api/live", "/api/readings", "/api/readings/socket", "/api/meta", "/api/keys/r",
         "/api/keys/q", "/healthz", "/metrics", "/video", "/page.js", "/favicon.ico")  # fmt: skip
ODD_PATHS = (
    "/%00",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/../../etc/passwd",
    "//",
    "*",
    "http://x/",
    "/%",
    "/%ff%fe",
    "/?token=%ff",
    "/?token=" + "a" * 4000,
    "/" + "a" * 70_000,
    "/api/keys/",
    "/api/keys/%0a",
    "/api/keys/\xff",
    "/?" + "&" * 5000,
    "/api/keys/%F0%9F%98%80",
    "",
)
METHODS = ("GET", "GET", "GET", "POST", "HEAD", "PUT", "OPTIONS", "TRACE", "CONNECT", "get", "",
           "X" * 9000, "PRI")  # fmt: skip
HEADERS = (
    "Content-Length: -1", "Content-Length: 99999999999999999999", "Content-Length: 5", ": y",
    "Content-Length: 0\r\nContent-Length: 1", "Transfer-Encoding: chunked", "Range: bytes=0-",
    "Transfer-Encoding: identity, chunked", "Host: evil.example", "Host: ", "Host: [::1", "X : y",
    "Host: \xff", "Origin: http://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site",
    "Cookie: a=b; =; ;", "Cookie: " + "a=b;" * 2000, "Authorization: Bearer \xff\xfe", " folded",
    "Authorization: Bearer " + "x" * 9000, "Authorization: Basic", "X: " + "y" * 70_000, "X: \0",
    "Expect: 100-continue", "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings",
    "Upgrade: websocket\r\nConnection: upgrade", "Accept-Encoding: gzip, \xff",
    "If-None-Match: *", "\r\n".join(f"X{number}: y" for number in range(300)),
)  # fmt: skip
OPERATIONS = (0x81, 0x82, 0x88, 0x89, 0x8A, 0x01, 0x00, 0xF1, 0x83)  # of a WebSocket
UPGRADE = (
    "GET /api/readings/socket HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Sec-WebSocket-Version: 13\r\n\r\n"
)
MOST_READ, IDLE, PATIENCE = 256 * 1024, 0.2, 20.0


class Page:
    """The program with its page, for all requests of a run."""

    def __init__(self, folder: Path, seeds: Path) -> None:
        folder.mkdir()
        self._log = folder / "page.txt"
        command = [sys.executable, "-m", "rankotom_edge", "camera", "--source", "demo", "--view",
                   "web", "--port", "0", "--model", str(seeds / "model.onnx")]  # fmt: skip
        environment = os.environ | {"PYTHONPATH": os.getcwd()}
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=folder, env=environment
            )
        self.port = self._find_port()

    def fault(self) -> str | None:
        """Since it started; asked after each request."""
        if self.process.poll() is not None:
            return f"the page ended with status {self.process.returncode}"
        if b"Traceback" in (said := self._log.read_bytes()):
            self._log.write_bytes(b"")
            return f"traceback in the page's log: {said.splitlines()[-1]!r}"
        used = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+)", used)
        assert found is not None
        return "memory of the page" if int(found[1]) > 2 * 1024**2 else None

    def close(self) -> None:
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        self.process.kill()
        self.process.wait()

    def _find_port(self) -> int:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and self.process.poll() is None:
            found = re.search(rb"The page: http://127\.0\.0\.1:(\d+)", self._log.read_bytes())
            if found:
                return int(found[1])
            time.sleep(0.05)
        raise RuntimeError(f"the page did not start: {self._log.read_text()}")


def make_request(random: Random, port: int) -> bytes:
    if random.random() < 0.15:
        return UPGRADE.format(port=port).encode() + b"".join(
            _frame(random) for _ in range(random.randrange(1, 6))
        )
    made = b"".join(_one_request(random, port) for _ in range(random.choice((1, 1, 1, 3, 20))))
    return damage(made, random) if random.random() < 0.4 else made


def _one_request(random: Random, port: int) -> bytes:
    method = random.choice(METHODS) if random.random() < 0.3 else "GET"
    path = random.choice(PATHS if random.random() < 0.6 else ODD_PATHS)
    version = random.choice(("1.1", "1.1", "1.1", "1.0", "2.0", "0.9", "", "9" * 50))
    lines = [f"{method} {path} HTTP/{version}", f"Host: 127.0.0.1:{port}"]
    lines += random.sample(HEADERS, random.choice((0, 0, 1, 1, 3)))
    if random.random() < 0.2:
        lines.append(f"X-Word: {random.choice(WORDS)}")
    if random.random() < 0.5:
        lines.append("Connection: close")
    end = random.choice(("\r\n", "\r\n", "\r\n", "\n"))
    text = end.join(lines) + 2 * end + random.choice(("", "", "0\r\n\r\n", "ffffffffffffffff\r\n"))
    return text.encode("utf-8", "surrogatepass")


def _frame(random: Random) -> bytes:
    """Of a WebSocket: any operation, length and mask."""
    first = random.choice((*OPERATIONS, random.randrange(256)))
    inside = random.randbytes(random.choice((0, 1, 2, 125, 126, 2000)))
    claimed = random.choice((len(inside), len(inside), 0, 2**16, 2**31, 2**63, 2**64 - 1))
    masked = random.choice((0x80, 0x80, 0x80, 0))
    if claimed < 126:
        size = bytes([masked | claimed])
    elif claimed < 2**16:
        size = bytes([masked | 126]) + claimed.to_bytes(2, "big")
    else:
        size = bytes([masked | 127]) + claimed.to_bytes(8, "big")
    return bytes([first]) + size + (bytes(4) if masked else b"") + inside


def send(request: bytes, port: int) -> int:
    """Then asks as its owner would. Status 0 if the request was answered, 2 if it was refused."""
    status = None
    with suppress(OSError):
        answer = _exchange(port, request, IDLE)
        status = re.match(rb"HTTP/1\.[01] (\d{3})[ \r]", answer)
        if answer and status is None:
            print(f"Traceback: no answer in HTTP: {answer[:80]!r}")
        if any(int(code) == 500 for code in re.findall(rb"^HTTP/1\.1 (\d{3})", answer, re.M)):
            print(f"Traceback: {answer[:80]!r}")
    good = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode()
    after = _exchange(port, good, PATIENCE)
    if not after.startswith(b"HTTP/1.1 200"):
        print(f"Traceback: the owner was answered {after[:80]!r}")
    answered = status is not None and status[1] < b"400"
    print("" if answered else "error: refused")
    return 0 if answered else 2


def _exchange(port: int, request: bytes, idle: float) -> bytes:
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(request)
        connection.settimeout(idle)
        with suppress(OSError):
            while len(answer) < MOST_READ and (part := connection.recv(65536)):
                answer += part
    return answer
