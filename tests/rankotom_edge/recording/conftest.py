"""Sessions recorded by a real model over a portrait."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import cv2
import numpy as np
import pytest

from rankotom_edge.faces.crop import crop
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import Quality
from rankotom_edge.faces.tracker import TrackedFace
from rankotom_edge.frame import Frame, Image
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.readings.reading import read_expression
from rankotom_edge.recording.recorder import Recorder, describe_session

STARTED = datetime(2026, 11, 16, 10, 42, 7, tzinfo=timezone.utc)
PORTRAIT = Path(__file__).parents[3] / "rankotom_edge" / "sources" / "eileen-collins.jpg"
# As the detector finds it.
FACE = Face((177, 83, 96, 96), (202.2, 104.7), (246.4, 109.8), (221.3, 128.1), (220, 149.3), 0.92)
GOOD = Quality(score=0.9, size=0.9, sharpness=0.95, light=1.0, pose=1.0, whole=1.0)


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return Classifier(load_artifact("ferplus-fp32"))


@pytest.fixture(scope="module")
def metadata(classifier: Classifier) -> dict[str, object]:
    options = {"max_error": 0.5}
    return describe_session("camera 0", classifier.artifact, STARTED, fps=15.0, options=options)


@pytest.fixture(scope="module")
def frames(classifier: Classifier) -> list[FrameReadings]:
    """Twelve frames in which the portrait moves to the right; in the fourth nobody is there."""
    portrait = cv2.imread(str(PORTRAIT))
    assert portrait is not None
    return [_frame_readings(classifier, portrait, index, shift=5.0 * index) for index in range(12)]


def _frame_readings(
    classifier: Classifier, portrait: Image, index: int, shift: float
) -> FrameReadings:
    image = np.roll(portrait, int(shift), axis=1)
    points = (FACE.left_eye, FACE.right_eye, FACE.nose, FACE.mouth)
    moved = [(x + shift, y) for x, y in points]
    face = Face((FACE.box[0] + shift, *FACE.box[1:]), *moved, score=FACE.score)
    card = classifier.artifact.card
    seen = crop(image, face, card.crop.framing, card.crop.size, card.crop.channels)
    raw = classifier.classify(seen[np.newaxis]).probabilities[0].astype(np.float64)
    reading = read_expression(
        TrackedFace(1, face, detected=True),
        labels=card.labels,
        raw=raw,
        probabilities=raw,
        quality=GOOD,
        needed=0.5,
        crop=seen,
    )
    readings = () if index == 3 else (reading,)
    return FrameReadings(Frame(image, index, index / 15, 0.0), readings, Latency(None, 1.5, 12.25))


@pytest.fixture(scope="module")
def record(metadata: dict[str, object]) -> Callable[..., Path]:
    def record(folder: Path, frames: list[FrameReadings], video: bool = False) -> Path:
        with Recorder(folder, metadata, video) as recorder:
            for each in frames:
                recorder.write(each)
        return recorder.folder

    return record
