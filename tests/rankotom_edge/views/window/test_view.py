"""The window, on a real X server, with real keys. It runs in a process of its own: Qt ends the
process when its server goes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from rankotom_edge.views.palette import EMOTION_HEX, bgr
from rankotom_edge.views.window.view import key_name, opening_size, screen_available, screen_size

ROOT = Path(__file__).parents[4]
TITLE = "a window under test"
PATIENCE = 120.0  # a busy machine may take its time; a test ends as soon as it can

PROGRAM = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from conftest import Showing
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.views.controls import Controls, toggle
from rankotom_edge.views.window.view import WindowView

card = load_artifact("ferplus-fp32").card
showing, controls, last = Showing(), Controls(), None
latest = showing.frame_readings(showing.reading(happiness=0.83))
with WindowView({TITLE!r}, card) as view:
    view.show(showing.display(None, controls))
    while not view.closed and last != "q":
        view.show(showing.display(latest, controls))
        while (key := view.key()) is not None:
            print("key", key, flush=True)
            controls, last = toggle(controls, key), key
        if not view.closed:
            print("size", *view._window.size, flush=True)
print("closed" if last != "q" else "quit", flush=True)
"""


class Program:
    """The window's own process: what it said, and what is done to its window."""

    def __init__(self, screen: str, output: Path) -> None:
        self._environment = os.environ | {"DISPLAY": screen, "OMP_NUM_THREADS": "1"}
        self._output = output
        with output.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM], cwd=ROOT, env=self._environment, stdout=file
            )
        self.window = self._find_window()
        self.wait_for("size")

    def _find_window(self) -> str:
        found = self.until(lambda: self.run("xdotool", "search", "--name", TITLE).split())
        return str(found[-1])

    def run(self, *command: str) -> str:
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True)
        return done.stdout

    def press(self, key: str) -> None:
        self.run("xdotool", "windowfocus", "--sync", self.window, "key", key)

    def said(self) -> list[str]:
        return self._output.read_text().splitlines()

    def wait_for(self, words: str) -> str:
        return str(self.until(lambda: [line for line in self.said() if line.startswith(words)])[-1])

    def until(self, condition: Callable[[], list[str]]) -> list[str]:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if found := condition():
                return found
            time.sleep(0.05)
        raise AssertionError(f"nothing within {PATIENCE} s; it said {self.said()[-3:]}")

    def screenshot(self, path: Path) -> np.ndarray:
        display = self._environment["DISPLAY"]
        grab = f"ffmpeg -v error -y -f x11grab -video_size 1400x900 -i {display} -frames:v 1"
        subprocess.run([*grab.split(), str(path)], check=True)
        return cv2.imread(str(path))

    def end(self) -> int:
        return self.process.wait(PATIENCE)


@pytest.fixture
def program(screen: str, tmp_path: Path) -> Iterator[Program]:
    started = Program(screen, tmp_path / "output")
    yield started
    if started.process.poll() is None:
        started.process.send_signal(signal.SIGKILL)
    started.process.wait()


def test_keys_reach_the_program_by_their_names_and_q_ends_it(program: Program) -> None:
    for key, name in (("h", "h"), ("space", "space"), ("Escape", "esc"), ("B", "b")):
        program.press(key)
        program.wait_for(f"key {name}")
    for key in ("Left", "F1"):
        program.press(key)
        time.sleep(0.3)
    program.press("q")
    assert program.end() == 0
    keys = [line for line in program.said() if line.startswith("key")]
    # The arrow is no "q", though its code ends like one.
    assert keys == ["key h", "key space", "key esc", "key b", "key q"]
    assert program.said()[-1] == "quit"


def test_a_window_closed_by_its_button_ends_the_view(program: Program) -> None:
    ask_to_close = f"""
import ctypes
x = ctypes.CDLL("libX11.so.6")
x.XOpenDisplay.restype = ctypes.c_void_p
x.XInternAtom.restype = ctypes.c_ulong
x.XInternAtom.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int)
class Message(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("serial", ctypes.c_ulong), ("sent", ctypes.c_int),
        ("display", ctypes.c_void_p), ("window", ctypes.c_ulong), ("kind", ctypes.c_ulong),
        ("format", ctypes.c_int), ("data", ctypes.c_long * 5), ("rest", ctypes.c_long * 24)]
display = x.XOpenDisplay(None)
kind = x.XInternAtom(display, b"WM_PROTOCOLS", 0)
data = (ctypes.c_long * 5)(x.XInternAtom(display, b"WM_DELETE_WINDOW", 0), 0, 0, 0, 0)
event = Message(33, 0, 1, display, {program.window}, kind, 32, data)
x.XSendEvent.argtypes = (ctypes.c_void_p, ctypes.c_ulong, ctypes.c_int, ctypes.c_long,
    ctypes.c_void_p)
x.XSendEvent(display, {program.window}, 0, 0, ctypes.byref(event))
x.XCloseDisplay.argtypes = (ctypes.c_void_p,)
x.XCloseDisplay(display)
"""
    program.run(sys.executable, "-c", ask_to_close)
    assert program.end() == 0
    assert program.said()[-1] == "closed"


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
def test_the_window_shows_the_overlay_at_its_own_size(program: Program, tmp_path: Path) -> None:
    program.run("xdotool", "windowsize", "--sync", program.window, "1200", "700")
    program.wait_for("size 1200 700")
    program.press("m")
    program.wait_for("key m")
    happiness = np.zeros((900, 1400), bool)

    def painted() -> list[str]:
        """Qt paints when it has time, so a screenshot may come too early."""
        shot = program.screenshot(tmp_path / "shot.png")
        happiness[:] = np.all(shot == bgr(EMOTION_HEX["happiness"]), axis=2)
        return ["to the pixel: nothing was scaled"] if happiness[:700, :1200].sum() > 200 else []

    program.until(painted)
    assert happiness[700:].sum() == 0


def test_a_screen_is_there_only_where_one_answers(
    screen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", screen)
    assert screen_available()
    monkeypatch.setenv("DISPLAY", ":93")
    assert not screen_available()
    monkeypatch.setenv("DISPLAY", "nonsense")
    assert not screen_available()
    monkeypatch.delenv("DISPLAY")
    assert not screen_available()


@pytest.mark.parametrize(
    ("code", "name"),
    [(ord("q"), "q"), (27, "esc"), (32, "space"), (ord("M"), "m"), (0x100000 + ord("h"), "h")],
)
def test_codes_have_names(code: int, name: str) -> None:
    assert key_name(code) == name


@pytest.mark.parametrize("code", [0xFF51, 0xFFBE, 0, 0xE9, 0x250000, ord("/")])
def test_other_keys_have_none(code: int) -> None:
    assert key_name(code) is None


@pytest.mark.parametrize(
    ("screen", "size"),
    [
        ((1920, 1080), (1728, 972)),
        ((3840, 2160), (3456, 1944)),
        ((1280, 800), (1152, 720)),
        ((3840, 1080), (1728, 972)),  # two screens side by side are one to X
        ((1080, 1920), (972, 1728)),
        ((640, 480), (640, 480)),  # full screen: borders would take too much of it
        (None, (1280, 720)),
    ],
)
def test_a_window_opens_to_fit_its_screen(
    screen: tuple[int, int] | None, size: tuple[int, int]
) -> None:
    assert opening_size(screen) == size


def test_the_size_of_the_screen_is_asked_of_it(
    screen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", screen)
    assert screen_size() == (1400, 900)


def test_f_makes_the_window_as_large_as_the_screen_and_small_again(program: Program) -> None:
    program.wait_for("size 1260 810")
    program.press("f")
    program.wait_for("size 1400 900")
    program.press("f")
    program.until(lambda: [line for line in program.said()[-1:] if line == "size 1260 810"])
    assert not any(line == "key f" for line in program.said())
