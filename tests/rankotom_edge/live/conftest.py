from collections.abc import Iterator

import pytest

from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.live.reader import Reader
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.readings.error_budget import ErrorBudget


@pytest.fixture(scope="module")
def detector() -> Iterator[FaceDetector]:
    with FaceDetector() as detector:
        yield detector


@pytest.fixture
def reader(detector: FaceDetector) -> Reader:
    return Reader(detector.detect, Classifier(load_artifact("ferplus-fp32")), ErrorBudget())
