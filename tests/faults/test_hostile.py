"""Two hundred hostile connections to the page, while the loop reads and its owner asks."""

from __future__ import annotations

import http.client
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

# In a process of its own, so that it takes no time from the clock here. A connection drips, stays
# silent, guesses tokens, or sends a header without end, and is opened again once it is closed.
HOSTILE = """
import selectors, socket, sys, time
port, count, ends = int(sys.argv[1]), int(sys.argv[2]), time.monotonic() + float(sys.argv[3])
guess = b"GET / HTTP/1.1\\r\\nAuthorization: Bearer wrong\\r\\nHost: localhost\\r\\n\\r\\n"
say = [b"", b"G", guess, b"GET / HTTP/1.1\\r\\nX: " + b"x" * 1000, b"\\x16\\x03\\x01", b"\\0" * 100]
held, opened = {}, 0
while time.monotonic() < ends:
    for number in range(count):
        connection = held.get(number)
        try:
            if connection is None:
                connection = held[number] = socket.create_connection(("127.0.0.1", port), timeout=1)
                connection.setblocking(False)
                opened += 1
            connection.send(say[number % len(say)] or b"")
            connection.recv(4096) or connection.close()
        except BlockingIOError:
            continue
        except OSError:
            connection and connection.close()
            held.pop(number, None)
        if connection and connection.fileno() < 0:
            held.pop(number, None)
    time.sleep(0.05)
print(opened)
"""
HOSTILES = 200


def test_the_owner_is_answered_while_two_hundred_hostile_connections_are_held(
    camera_program: Callable[..., Any],
    times: Callable[[int, int], int],
    report: Callable[..., None],
) -> None:
    seconds = times(60, 6)
    program = camera_program("--source", "demo", "--view", "web", "--token", "--port", "0")
    said = ""
    while "The page: " not in said:
        line = program.stderr.readline()
        assert line, said
        said += line
    # Or the program would wait for somebody to read what it says.
    threading.Thread(target=program.stderr.read, daemon=True).start()
    port, token = re.findall(r"The page: http://127.0.0.1:(\d+)/\?token=(\S+)", said)[0]

    def ask(path: str, round_trip: float = 0.0) -> str:
        """The request comes so many seconds after the connection, as through a tunnel."""
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
        connection.connect()
        time.sleep(round_trip)
        connection.request("GET", f"/{path}", headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        assert answer.status == 200
        said = answer.read().decode()
        connection.close()
        return said

    def frames() -> float:
        return float(re.findall(r"^rankotom_frames_total (\S+)", ask("metrics"), re.M)[0])

    def stream() -> socket.socket:
        reader = socket.create_connection(("127.0.0.1", int(port)), timeout=20)
        bearer = f"Authorization: Bearer {token}\r\nHost: localhost\r\n\r\n"
        reader.sendall(f"GET /api/live HTTP/1.1\r\n{bearer}".encode())
        assert reader.recv(1000).startswith(b"HTTP/1.1 200")
        return reader

    watching = stream()
    arguments = [sys.executable, "-c", HOSTILE, port, str(HOSTILES), str(seconds)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as hostile:
        waits, failed, before = [], 0, frames()
        while hostile.poll() is None:
            began = time.monotonic()
            try:
                ask("api/meta", round_trip := 0.1 * (len(waits) % 2))
            except (OSError, http.client.HTTPException):
                failed += 1
            waits.append(time.monotonic() - began - round_trip)
        read = frames() - before
        assert hostile.stdout is not None
        opened = int(hostile.stdout.read())
    with suppress(BlockingIOError):
        watching.setblocking(False)
        while heard := watching.recv(1 << 20):
            assert heard, "the owner's stream was closed"
    watching.close()
    program.terminate()
    assert program.wait(60) == 130
    assert failed == 0, f"{failed} of {len(waits)}"
    assert opened > HOSTILES
    assert len(waits) > seconds / 4
    assert read > seconds / 4
    slow = sorted(waits)[int(0.95 * len(waits))]
    report(
        f"{HOSTILES} hostile connections for {seconds} s, opened {opened:,} times",
        f"{read / seconds:.0f} frames a second; owner answered, 95 % within {1000 * slow:.0f} ms",
        f"{len(waits) - failed:,} of {len(waits):,}",
        0,
    )
