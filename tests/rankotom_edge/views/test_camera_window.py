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


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.2)
    pytest.fail(f"not within {PATIENCE:.0f} s")


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
        env={**environment, "PYTHONPATH": str(Path(__file__).parents[3])},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: xdotool("search", "--name", "rankotom-edge"))
        window = xdotool("search", "--name", "rankotom-edge").splitlines()[-1]

        def press(key: str) -> None:
            xdotool("windowfocus", "--sync", window, "key", key)

        time.sleep(2)
        assert list(tmp_path.iterdir()) == []
        press("s")
        until(lambda: list(tmp_path.glob("snapshot-*.png")))
        press("r")
        until(lambda: list(tmp_path.glob("sessions/session-*/readings.jsonl")))
        press("r")
        until(
            lambda: (
                '"complete": true' in next(tmp_path.glob("sessions/*/metadata.json")).read_text()
            )
        )
        press("q")
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        said = process.stderr.read()
    finally:
        process.kill()
        process.wait()
    assert sorted(path.name.partition("-")[0] for path in tmp_path.iterdir()) == [
        "sessions",
        "snapshot",
    ]
    assert said.count("\n") == 1, said
    assert " frames in " in said
