"""``rankotom-edge camera`` in a terminal of its own."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path

TERMINAL = f"{sys.executable} -m rankotom_edge camera --source demo --view terminal"


def in_a_terminal(line: str, errors: Path) -> tuple[int, subprocess.Popen[bytes]]:
    """Its other end, and the program, once it has taken the whole screen."""
    ours, theirs = pty.openpty()
    with errors.open("wb") as file:
        process = subprocess.Popen(
            ["sh", "-c", f"exec {line}"],
            stdin=theirs,
            stdout=theirs,
            stderr=file,
            env={**os.environ, "TERM": "xterm"},
            start_new_session=True,
        )
    os.close(theirs)
    shown = b""
    while b"\x1b[?1049h" not in shown:
        shown += os.read(ours, 65536)
    return ours, process


def test_a_lost_terminal_is_a_clean_end_like_ctrl_c(tmp_path: Path) -> None:
    ours, process = in_a_terminal(TERMINAL, tmp_path / "errors")
    os.close(ours)
    assert process.wait(timeout=60) == 130
    assert "rror" not in (tmp_path / "errors").read_text()


def test_the_terminal_view_works_without_standard_input(tmp_path: Path) -> None:
    line = f"{TERMINAL} --fast --frames 5 <&-"
    ours, process = in_a_terminal(line, tmp_path / "errors")
    with contextlib.suppress(OSError):  # the end of what it shows
        while os.read(ours, 65536):
            pass
    os.close(ours)
    assert process.wait(timeout=60) == 0
    assert "5 frames" in (tmp_path / "errors").read_text()
