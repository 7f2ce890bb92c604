"""A minute of the demo, read as the live loop reads it, and recorded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

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
