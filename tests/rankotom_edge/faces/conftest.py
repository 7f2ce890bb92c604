"""The demo portrait, its face, and the same face with a covered mouth."""

import math
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


@pytest.fixture(scope="session")
def covered(portrait: Image, face: Face) -> Image:
    """A sheet of the skin's own colour from the nose to the chin."""
    x, y = face.mouth
    apart = math.dist(face.left_eye, face.right_eye)
    nose = tuple(round(value) for value in face.nose)
    skin = portrait[nose[1] - 4 : nose[1], nose[0] - 4 : nose[0] + 4].mean(axis=(0, 1))
    middle, reach = (round(x), round(y + 0.1 * apart)), (round(0.7 * apart), round(0.6 * apart))
    sheet = cv2.ellipse(portrait.copy(), middle, reach, 0, 0, 360, skin.tolist(), -1)
    return np.asarray(cv2.GaussianBlur(sheet, (0, 0), 1), np.uint8)
