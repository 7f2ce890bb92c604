"""Real terminals and browsers to look through, and a minute of the demo, read and recorded."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.frame import Frame
from rankotom_edge.live.reader import Reader
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.readings.error_budget import ErrorBudget
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.recording.recorder import Recorder, describe_session
from rankotom_edge.sources.demo import demo_picture, load_portrait

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0


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


FPS = 4.0


@pytest.fixture(scope="session")
def frames(fp32: Artifact) -> list[FrameReadings]:
    """65 seconds of the demo at four frames a second."""
    portrait = load_portrait()
    with FaceDetector() as detector:
        reader = Reader(detector.detect, Classifier(fp32), ErrorBudget())
        times = [index / FPS for index in range(int(65 * FPS))]
        return [
            reader.read(Frame(demo_picture(portrait, time, (320, 240)), index, time, captured=time))
            for index, time in enumerate(times)
        ]


@pytest.fixture(scope="session")
def record(fp32: Artifact) -> Callable[..., Path]:
    def record(
        parent: Path, frames: list[FrameReadings], *, video: bool = True, still: bool = False
    ) -> Path:
        started = datetime(2026, 11, 16, 10, 42, 7, tzinfo=timezone.utc)
        metadata = describe_session("camera 0", fp32, started, fps=FPS, still=still)
        with Recorder(parent, metadata, video) as recorder:
            for read in frames:
                recorder.write(read)
        return recorder.folder

    return record


@pytest.fixture(scope="session")
def recordings(
    tmp_path_factory: pytest.TempPathFactory,
    frames: list[FrameReadings],
    record: Callable[..., Path],
) -> Path:
    """A folder that holds one session."""
    return record(tmp_path_factory.mktemp("recordings"), frames).parent
