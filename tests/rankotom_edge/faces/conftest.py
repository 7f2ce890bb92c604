"""The demo portrait and its face."""

from collections.abc import Iterator
from importlib import resources

import cv2
import numpy as np
import pytest

from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image


@pytest.fixture(scope="session")
def detector() -> Iterator[FaceDetector]:
    with FaceDetector() as detector:
        yield detector


@pytest.fixture(scope="session")
def portrait() -> Image:
    path = resources.files("rankotom_edge.sources") / "eileen-collins.jpg"
    image = cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_COLOR)
    return np.asarray(image, np.uint8)


@pytest.fixture(scope="session")
def grey_portrait(portrait: Image) -> Image:
    return np.asarray(cv2.cvtColor(portrait, cv2.COLOR_BGR2GRAY), np.uint8)


@pytest.fixture(scope="session")
def face(portrait: Image, detector: FaceDetector) -> Face:
    return detector.detect(portrait)[0]
