"""Tells systemd when the loop runs, and that it still does: readiness and watchdog (sd_notify).

With ``WatchdogSec`` in the unit, a loop that says nothing for so long is restarted. It is the loop
itself that says it, so a loop that hangs cannot.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress

from rankotom_edge.closing import Closing

SHARE = 0.25  # of the time that systemd waits, between two signs of life; it advises half


class ServiceManager(Closing):
    """Does nothing unless systemd started the program. Called with the time at each turn of the
    loop."""

    def __init__(self, environment: Mapping[str, str] = os.environ, pid: int | None = None) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        watched = environment.get("WATCHDOG_PID", "") in ("", str(pid or os.getpid()))
        limit = environment.get("WATCHDOG_USEC", "")
        self._every = SHARE * int(limit) / 1e6 if watched and limit.isdigit() else None
        self._next: float | None = None  # None before the first turn
        self._socket: socket.socket | None = None
        # A name that begins with @ is not a file.
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        if sys.platform == "linux" and address:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.setblocking(False)

    def __call__(self, now: float) -> None:
        if self._next is None:
            self._say("READY=1")
        if self._next is None or now >= self._next:
            self._next = now + (self._every or float("inf"))
            if self._every is not None:
                self._say("WATCHDOG=1")

    def close(self) -> None:
        if self._socket is not None:
            self._say("STOPPING=1")
            self._socket.close()
            self._socket = None

    def _say(self, words: str) -> None:
        if self._socket is not None:
            with suppress(OSError):  # a manager that does not listen is no reason to stop reading
                self._socket.sendto(words.encode(), self._address)
