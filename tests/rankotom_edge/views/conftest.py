"""A face to show, and a screen to show it on."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import Quality
from rankotom_edge.frame import Frame
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.blend import find_blend
from rankotom_edge.readings.drift_monitor import DriftStatus
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.readings.reading import Reading
from rankotom_edge.sources import State
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.display import Display, Status

GOOD = Quality(score=0.9, size=0.9, sharpness=0.95, light=1.0, pose=1.0, whole=1.0)
FACE = Face((200, 120, 120, 120), (235, 160), (285, 160), (260, 185), (260, 215), 0.9)


class Showing:
    """Makes what a view is shown."""

    status = Status("camera 0", State("playing", ""), 29.7, 12.3, 0, "ferplus-fp32", "fp32")

    drifted = DriftStatus(
        "drifted",
        0.62,
        80,
        "confidence has drifted: light is low since 10:42",
        "light is low",
        datetime(2026, 11, 16, 10, 42),
    )
    steady = DriftStatus("steady", 0.03, 90, "as measured", None, None)

    def reading(self, track: int = 1, reason: str | None = None, **named: float) -> Reading:
        rest = (1 - sum(named.values())) / (len(EMOTIONS) - len(named))
        probabilities = np.array([named.get(name, rest) for name in EMOTIONS])
        x, y, width, height = FACE.box
        return Reading(
            track=track,
            face=replace(FACE, box=(x, y, width + track, height + track)),
            quality=GOOD,
            labels=EMOTIONS,
            probabilities=probabilities,
            raw=probabilities,
            blend=find_blend(probabilities, EMOTIONS),
            verdict="sure" if reason is None else "unsure",
            reason=reason,
            crop=np.arange(48 * 48, dtype=np.uint16).astype(np.uint8).reshape(1, 48, 48),
        )

    def frame_readings(self, *readings: Reading) -> FrameReadings:
        image = np.full((480, 640, 3), (180, 120, 60), np.uint8)
        return FrameReadings(Frame(image, 0, 0.0, 0.0), readings, Latency(2.0, 1.0, 12.0))

    def display(
        self, latest: FrameReadings | None, controls: Controls | None = None, **status: Any
    ) -> Display:
        return Display(latest, replace(self.status, **status), controls or Controls())


@pytest.fixture
def showing() -> Showing:
    return Showing()


@pytest.fixture(scope="session")
def model() -> MeasuredModel:
    return load_artifact("ferplus-fp32").card


@pytest.fixture(scope="session")
def reliability(model: MeasuredModel) -> Reliability:
    return Reliability(model.evaluation)


@pytest.fixture(scope="session")
def screen() -> Iterator[str]:
    """The name of a display of our own."""
    if shutil.which("Xvfb") is None or shutil.which("xdotool") is None:
        pytest.skip("Xvfb and xdotool are not both installed")
    reading_end, writing_end = os.pipe()
    # Without -noreset it starts over whenever its last client goes, and answers nobody meanwhile.
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing_end), "-screen", "0", "1400x900x24", "-noreset"],
        pass_fds=[writing_end],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing_end)
    with os.fdopen(reading_end) as answer:
        number = answer.readline().strip()
    try:
        if not number:
            pytest.skip("Xvfb does not start here")
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()
