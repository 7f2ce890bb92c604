"""What is drawn before a face is before its mouth, and is noticed there."""

from importlib import resources

import cv2
import numpy as np
import pytest

from rankotom_edge.faces.crop import FERPLUS_FRAMING, crop
from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import edges_below, mouth_hidden
from rankotom_edge.faces.second_pass import look_closer
from rankotom_edge.frame import Image
from train.experiments.covered_mouths import COVERS, OVER_THE_MOUTH, covered, covered_small, fitted

# The demo portrait's.
FACE = Face((177, 83, 96, 96), (206.5, 108.9), (251.0, 108.7), (230, 129), (228.6, 150.5), 0.92)


@pytest.fixture(scope="module")
def portrait() -> Image:
    data = (resources.files("rankotom_edge.sources") / "eileen-collins.jpg").read_bytes()
    return np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR), np.uint8)


def changed(one: Image, other: Image, point: tuple[float, float]) -> bool:
    x, y = (round(value) for value in point)
    around = slice(y - 2, y + 3), slice(x - 2, x + 3)
    return not np.array_equal(one[around], other[around])


@pytest.mark.parametrize("name", COVERS)
def test_a_cover_is_before_the_mouth_and_leaves_the_eyes(portrait: Image, name: str) -> None:
    bare = portrait.copy()
    drawn = covered(portrait, FACE, COVERS[name], np.random.default_rng(0))
    assert np.array_equal(portrait, bare)
    eyes = changed(bare, drawn, FACE.left_eye), changed(bare, drawn, FACE.right_eye)
    over_the_mouth = name != "hand on an eye"
    assert changed(bare, drawn, FACE.mouth) == over_the_mouth
    assert sum(eyes) == (0 if over_the_mouth else 1)


@pytest.mark.parametrize("name", sorted(OVER_THE_MOUTH.keys() - {"fingers", "glove"}))
def test_what_covers_the_mouth_is_noticed_where_the_detector_finds_the_face(
    portrait: Image, name: str
) -> None:
    noticed = []
    with FaceDetector() as detector:
        for seed in range(5):
            drawn = covered(portrait, FACE, OVER_THE_MOUTH[name], np.random.default_rng(seed))
            for face in look_closer(detector.detect, drawn, FACE):
                noticed.append(mouth_hidden(crop(drawn, face, FERPLUS_FRAMING, 48, 1)[0]) > 0)
    assert len(noticed) == 5
    assert sum(noticed) >= 4


def test_a_small_face_keeps_its_size_and_loses_its_mouth(portrait: Image) -> None:
    small = cv2.cvtColor(crop(portrait, FACE, FERPLUS_FRAMING, 48, 1)[0], cv2.COLOR_GRAY2BGR)
    drawn = covered_small(
        np.asarray(small, np.uint8),
        FERPLUS_FRAMING.points,
        OVER_THE_MOUTH["mask"],
        np.random.default_rng(0),
    )
    assert drawn.shape == small.shape
    assert (
        mouth_hidden(np.ascontiguousarray(small[..., 0])) < 0 < mouth_hidden(drawn[..., 0].copy())
    )


def test_edges_are_counted_by_where_they_are_and_which_way_they_run() -> None:
    lines = np.zeros((48, 48), np.uint8)
    lines[38:40] = 200  # a mouth's line, straight across
    counted = edges_below(lines)
    assert counted.shape == (5, 4, 4)
    row, direction = np.unravel_index(counted.sum(axis=1).argmax(), (5, 4))
    assert (row, direction) == (
        3,
        2,
    )  # the seventh row of cells, of which three are left out; it changes downwards
    assert not edges_below(np.full((48, 48), 90, np.uint8)).any()


def test_the_fit_finds_what_tells_two_kinds_apart() -> None:
    random = np.random.default_rng(0)
    bare, hidden = random.normal(0, 1, (2, 400, 3))
    hidden[:, 1] += 2
    weights = fitted(bare, hidden)
    assert weights.shape == (3,)
    assert weights[1] == pytest.approx(2, abs=0.4)
    assert np.abs(weights[[0, 2]]).max() < 0.4
