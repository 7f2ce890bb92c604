"""Faces and a judge that need no data set: hundreds of warped and relit demo portraits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from calib.predictions import Predictions
from export.faces import LabelledFaces, faces_hash
from export.int8 import CALIBRATIONS, prepare
from export.judges import LabelledJudge
from rankotom_edge.faces.crop import crop
from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.card import FacesUsed
from rankotom_edge.model.classifier import Classifier

PORTRAIT = Path(__file__).parents[2] / "rankotom_edge/sources/eileen-collins.jpg"
SIDE = 192
FACES = 600

MakeJudge = Callable[..., LabelledJudge]


@pytest.fixture(scope="session")
def prepared(fp32: Artifact) -> onnx.ModelProto:
    return prepare(onnx.load(fp32.path))


@pytest.fixture
def one_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the time."""
    monkeypatch.setattr("export.search.CALIBRATIONS", {"minmax": CALIBRATIONS["minmax"]})


@pytest.fixture(scope="session")
def portraits(fp32: Artifact) -> NDArray[np.uint8]:
    """(600, 1, 48, 48)."""
    picture = cv2.imread(str(PORTRAIT))
    with FaceDetector() as detector:
        (face,) = detector.detect(picture)
    large = crop(picture, face, fp32.card.crop.framing, SIDE, 1)[0]
    random = np.random.default_rng(0)
    straight = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE)), axis=-1).astype(np.float32)
    made = []
    for _ in range(FACES):
        pulls = random.normal(0, 10, (4, 4, 2)).astype(np.float32)
        bent = straight + cv2.resize(pulls, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)
        seen = cv2.remap(
            large, bent[..., 0], bent[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REFLECT
        )
        lit = (seen.astype(np.float64) - 128) * random.uniform(0.5, 1.3) + 128
        noisy = lit + random.uniform(-40, 40) + random.normal(0, 4, lit.shape)
        small = cv2.resize(noisy, (48, 48), interpolation=cv2.INTER_AREA)
        made.append(np.clip(small, 0, 255).astype(np.uint8)[np.newaxis])
    return np.stack(made)


@pytest.fixture(scope="session")
def judge_of(portraits: NDArray[np.uint8]) -> MakeJudge:
    """Labels drawn from the parent's probabilities: the parent is perfectly calibrated."""

    def make(parent: Artifact, count: int = 300, **options: object) -> LabelledJudge:
        classifier = Classifier(parent)
        random = np.random.default_rng(1)

        def labelled(name: str, pixels: NDArray[np.uint8]) -> tuple[LabelledFaces, Predictions]:
            logits = classifier.classify(pixels).logits.astype(np.float64)
            shares = Predictions.from_logits(
                logits, np.zeros(len(logits), np.int64), temperature=parent.card.temperature
            ).probabilities
            labels = np.array([random.choice(len(row), p=row) for row in shares])
            used = FacesUsed(name, len(labels), faces_hash(pixels, labels))
            said = Predictions.from_logits(
                logits, labels, parent.card.labels, temperature=parent.card.temperature
            )
            return LabelledFaces(used, pixels, labels, None), said

        choose, chosen = labelled("portraits/choose", portraits[0::2][:count])
        report, reported = labelled("portraits/report", portraits[1::2][:count])
        return LabelledJudge(choose, report, chosen, reported, resamples=50, **options)

    return make
