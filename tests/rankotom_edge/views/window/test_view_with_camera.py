"""The whole command in a real window, on a screen of our own, with real key presses."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

PATIENCE = 60.0
# A key can be lost while a window is being shown, as for a person, who presses it again.
AGAIN = 10.0
SEARCH = ("search", "--onlyvisible", "--name", "rankotom-edge")


def within(seconds: float, condition: Callable[[], object]) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


def test_with_a_screen_nothing_is_kept_either(screen: str, tmp_path: Path) -> None:
    """MediaPipe starts OpenGL there, which would leave its shaders in the cache."""
    home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "DISPLAY": screen}
    command = [sys.executable, "-m", "rankotom_edge", "camera", "--source", "demo"]
    subprocess.run(
        [*command, "--view", "none", "--frames", "5"],
        env={**os.environ, **home},
        cwd=Path(__file__).parents[4],
        check=True,
        capture_output=True,
    )
    assert list(tmp_path.iterdir()) == []


def test_keys_record_save_and_quit_and_nothing_else_is_written(screen: str, tmp_path: Path) -> None:
    environment = {**os.environ, "DISPLAY": screen}

    def xdotool(*arguments: str) -> str:
        done = subprocess.run(
            ["xdotool", *arguments], env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout.strip()

    process = subprocess.Popen(
        [sys.executable, "-m", "rankotom_edge", "camera", "--source", "demo"],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(Path(__file__).parents[4])},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert within(PATIENCE, lambda: xdotool(*SEARCH))
        window = xdotool(*SEARCH).splitlines()[-1]

        def press(key: str, done: Callable[[], object]) -> None:
            for _ in range(int(PATIENCE / AGAIN)):
                xdotool("windowfocus", "--sync", window, "key", key)
                if within(AGAIN, done):
                    return
            pytest.fail(f"{key} does nothing; the program's status is {process.poll()}")

        time.sleep(2)
        assert list(tmp_path.iterdir()) == []
        press("s", lambda: list(tmp_path.glob("snapshot-*.png")))
        press("r", lambda: list(tmp_path.glob("sessions/session-*/metadata.json")))
        metadata = next(tmp_path.glob("sessions/*/metadata.json"))
        press("r", lambda: '"complete": true' in metadata.read_text())
        press("q", lambda: process.poll() is not None)
        assert process.returncode == 0
        assert process.stderr is not None
        said = process.stderr.read()
    finally:
        process.kill()
        process.wait()
    assert {path.name.partition("-")[0] for path in tmp_path.iterdir()} == {"sessions", "snapshot"}
    assert " frames in " in said.splitlines()[0]
    assert " of 60 faces" in said.splitlines()[-1]  # after the summary
