"""What tests look through: a real terminal, and a real browser."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0


class Tmux:
    """A terminal that runs a command, then shows its settings."""

    def __init__(self, command: str, columns: int, lines: int) -> None:
        self._command = ["tmux", "-L", f"rankotom-{uuid.uuid4().hex[:8]}", "-f", "/dev/null"]
        self._lines = lines
        # Some shells export the size they started with.
        settings = f"COLUMNS={columns} LINES={lines} PYTHONPATH=.:$PYTHONPATH"
        run = f"cd {shlex.quote(str(ROOT))}; {settings} {command}; stty -a; sleep 60"
        self.run("new-session", "-d", "-x", str(columns), "-y", str(lines), run)

    def run(self, *command: str) -> str:
        done = subprocess.run([*self._command, *command], capture_output=True, text=True)
        return done.stdout

    def lines(self) -> list[str]:
        return self.run("capture-pane", "-p").splitlines()

    def wait_for(self, *words: str, lines: int | None = None) -> list[str]:
        """The screen, once it has this many lines and all these words."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            shown = self.lines()
            page = "\n".join(shown)
            if len(shown) == (lines or self._lines) and all(word in page for word in words):
                return shown
            time.sleep(0.05)
        raise AssertionError(f"no {words!r} in:\n" + "\n".join(self.lines()))

    def press(self, *keys: str) -> None:
        self.run("send-keys", *keys)


@pytest.fixture
def open_tmux() -> Iterator[Callable[[str, int, int], Tmux]]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    opened: list[Tmux] = []

    def open_one(command: str, columns: int, lines: int) -> Tmux:
        opened.append(Tmux(command, columns, lines))
        return opened[-1]

    yield open_one
    for terminal in opened:
        terminal.run("kill-server")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium; nothing is downloaded."""
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and chromium-driver are not both installed")
    options = selenium.ChromeOptions()
    options.binary_location = chromium
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--window-size=1280,900",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = selenium.Chrome(options=options, service=selenium.ChromeService(driver))
    try:
        yield opened
    finally:
        opened.quit()
