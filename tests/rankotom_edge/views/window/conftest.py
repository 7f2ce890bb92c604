"""Makes displays for the window, draws them, and reads what is written on the picture."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import Quality
from rankotom_edge.frame import Frame, Image
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.readings.blend import find_blend
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.readings.reading import Reading
from rankotom_edge.sources import State
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.display import Display, Status
from rankotom_edge.views.drawing import canvas
from rankotom_edge.views.palette import bgr
from rankotom_edge.views.window.overlay import Overlay

GOOD = Quality(score=0.9, size=0.9, sharpness=0.95, light=1.0, pose=1.0, whole=1.0)


def shares(**named: float) -> np.ndarray:
    """The named emotions; the others share the rest."""
    rest = (1 - sum(named.values())) / (len(EMOTIONS) - len(named))
    return np.array([named.get(name, rest) for name in EMOTIONS])


def face_in(x: float, y: float, side: float) -> Face:
    return Face(
        (x, y, side, side),
        left_eye=(x + 0.3 * side, y + 0.3 * side),
        right_eye=(x + 0.7 * side, y + 0.3 * side),
        nose=(x + 0.5 * side, y + 0.5 * side),
        mouth=(x + 0.5 * side, y + 0.75 * side),
        score=0.9,
    )


def reading(
    probabilities: np.ndarray, face: Face | None = None, track: int = 1, reason: str | None = None
) -> Reading:
    return Reading(
        track=track,
        face=face or face_in(100, 120, 110),
        quality=GOOD,
        labels=EMOTIONS,
        probabilities=probabilities,
        raw=probabilities,
        blend=find_blend(probabilities, EMOTIONS),
        verdict="sure" if reason is None else "unsure",
        reason=reason,
    )


class WindowMaker:
    MODEL = load_artifact("ferplus-fp32").card
    PLAYING = Status("camera 0", State("playing", ""), 29.7, 12.3, 0, "ferplus-fp32", "fp32")
    HAPPY = reading(shares(happiness=0.83))

    shares = staticmethod(shares)
    face_in = staticmethod(face_in)
    reading = staticmethod(reading)

    def frame_readings(
        self, *readings: Reading, size: tuple[int, int] = (640, 480), index: int = 0
    ) -> FrameReadings:
        """On noise, so that anything drawn over it shows."""
        width, height = size
        noise = np.random.default_rng(0).integers(60, 120, (height, width, 3), dtype=np.uint8)
        frame = Frame(noise, index, index / 30, 0.0)
        return FrameReadings(frame, readings, Latency(2.0, 1.0, 12.0))

    def playing(self, latest: FrameReadings | None, controls: Controls | None = None) -> Display:
        return Display(latest, self.PLAYING, controls or Controls())

    def drawn(
        self,
        latest: FrameReadings | None,
        status: Status | None = None,
        controls: Controls | None = None,
        room: tuple[int, int] | None = None,
    ) -> Image:
        display = Display(latest, status or self.PLAYING, controls or Controls())
        return Overlay(self.MODEL).draw(display, room)

    def pixels_of(self, image: Image, colour: str) -> int:
        return int(np.all(image == bgr(colour), axis=2).sum())


@pytest.fixture
def window() -> WindowMaker:
    return WindowMaker()


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that is drawn from here on."""
    drawn: list[str] = []
    draw = canvas._coloured_text

    def noting(text: str, *rest: object) -> object:
        drawn.append(text)
        return draw(text, *rest)

    monkeypatch.setattr(canvas, "_coloured_text", noting)
    return drawn


@pytest.fixture
def words(window: WindowMaker, texts: list[str]) -> Callable[..., str]:
    """Draws like ``window.drawn``, and returns all that is written, in one line."""

    def written(*args: object, **options: object) -> str:
        texts.clear()
        window.drawn(*args, **options)
        return " | ".join(texts)

    return written
