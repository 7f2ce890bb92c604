"""The watch sees what it has to see: here programs misbehave on purpose."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rankotom_edge.doctor import private
from rankotom_edge.doctor.private import file_calls, network_calls, private_checks

if TYPE_CHECKING:
    from conftest import Watch

SENDS = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    sender.sendto(b"a face", ("127.0.0.1", 9))
"""
LOOKS_UP = "import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()"
ASKS = """
import socket
with socket.socket(socket.AF_UNIX) as resolver:
    resolver.connect_ex("/run/systemd/resolve/io.systemd.Resolve")
"""
WRITES = "open('face.jpg', 'wb').close()"
MOVES = "import os\nos.replace('a', 'b')"
REMOVES = "import os\nos.unlink('a')"
BEHAVES = "import os, socket\nsocket.socketpair()\nopen('/dev/null', 'w').close()\nopen('a').read()"


@pytest.mark.parametrize(
    ("program", "sent", "wrote"),
    [
        (SENDS, 2, 0),
        (LOOKS_UP, 1, 0),
        (ASKS, 1, 0),
        (WRITES, 0, 1),
        (MOVES, 0, 1),
        (REMOVES, 0, 1),
        (BEHAVES, 0, 0),
    ],
)
def test_each_way_out_is_seen(
    watch: Watch, tmp_path: Path, program: str, sent: int, wrote: int
) -> None:
    (tmp_path / "a").touch()
    command = [*watch.over(private.CALLS), sys.executable, "-c", program]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert len(network_calls(watch.calls)) == sent
    assert len(file_calls(watch.calls)) == wrote


def test_a_run_on_the_demo_is_private(watch: Watch) -> None:
    checks = private_checks("demo", 300)
    assert [(check.name, check.ok) for check in checks] == [("network", True), ("files", True)]
    assert "60 frames of demo" in checks[0].detail


def test_a_run_that_fails_proves_nothing(watch: Watch) -> None:
    (check,) = private_checks("no-such-camera", 300)
    assert not check.ok
    assert "ended with status 2" in check.detail


def test_a_run_that_takes_too_long_is_ended_with_all_that_it_started(
    watch: Watch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo = tmp_path / "never.mp4"
    os.mkfifo(fifo)
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nexec cat {fifo}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    (check,) = private_checks("demo", 0.5)
    assert "did not end in 0.5 s" in check.detail
    assert "--timeout 1" in str(check.fix)
    end = time.monotonic() + 60  # a killed process may still need a moment of a busy processor
    while (is_read := _is_read(fifo)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_read


def _is_read(fifo: Path) -> bool:
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return False
    return True


def test_without_strace_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    (check,) = private_checks("demo", 300)
    assert not check.ok
    assert "apt-get install strace" in str(check.fix)
