"""A cover is drawn where it belongs."""

from importlib import resources

import cv2
import numpy as np
import pytest

from rankotom_edge.faces.crop import FERPLUS_FRAMING, crop
from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image
from rankotom_edge.geometry import align_points
from train.data.face_covers import COVERS, draw_cover, draw_cover_on_crop, face_at

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
def test_a_cover_hides_the_mouth_and_leaves_the_eyes(portrait: Image, name: str) -> None:
    bare = portrait.copy()
    drawn = draw_cover(portrait, FACE, COVERS[name], np.random.default_rng(0))
    assert np.array_equal(portrait, bare)
    eyes = changed(bare, drawn, FACE.left_eye), changed(bare, drawn, FACE.right_eye)
    over_the_mouth = name != "hand on an eye"
    assert changed(bare, drawn, FACE.mouth) == over_the_mouth
    assert sum(eyes) == (0 if over_the_mouth else 1)


def test_a_small_face_keeps_its_size_and_loses_its_mouth(portrait: Image) -> None:
    small = cv2.cvtColor(crop(portrait, FACE, FERPLUS_FRAMING, 48, 1)[0], cv2.COLOR_GRAY2BGR)
    drawn = draw_cover_on_crop(
        np.asarray(small, np.uint8),
        FERPLUS_FRAMING.points,
        COVERS["mask"],
        np.random.default_rng(0),
    )
    assert drawn.shape == small.shape
    above, below = slice(0, 20), slice(28, 44)
    difference = np.abs(drawn.astype(int) - small)
    assert difference[above].mean() < 8 < difference[below].mean()


def test_a_face_that_fills_its_picture_is_cropped_as_it_is() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (48, 48, 3), np.uint8)
    face = face_at(FERPLUS_FRAMING.points * 48, 48)
    points = [face.left_eye, face.right_eye, face.mouth]
    assert align_points(points, (FERPLUS_FRAMING.points * 48).tolist()).turn == pytest.approx(1)
    seen = crop(picture, face, FERPLUS_FRAMING, 48, 1)[0]
    assert np.abs(seen.astype(int) - cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)).max() <= 1
