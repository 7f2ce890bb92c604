"""Faces made worse on purpose, and what the model makes of them."""

from importlib import resources
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.faces.crop import FERPLUS_FRAMING, crop
from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image
from rankotom_edge.geometry import similarity
from rankotom_edge.model.artifact import load_artifact
from train.data.datasets import FaceSet
from train.experiments.damage import (
    DAMAGES,
    Fared,
    blurred,
    burnt,
    darkened,
    fares,
    flattened,
    framed_face,
    grainy,
    moved,
    shrunk,
)

# The demo portrait's, so that this needs no detector.
FACE = Face((177, 83, 96, 96), (206.5, 108.9), (251.0, 108.7), (230, 129), (228.6, 150.5), 0.92)
GREYS = np.repeat(np.array([[[0], [100]], [[200], [255]]], np.uint8), 3, axis=2)


def grey(picture: Image) -> list[list[int]]:
    return [[int(value) for value in row] for row in picture[..., 0]]


def test_each_damage_does_what_its_name_says() -> None:
    assert grey(darkened(4)(GREYS)) == [[0, 25], [50, 63]]
    assert grey(burnt(2)(GREYS)) == [[0, 200], [255, 255]]
    assert grey(flattened(0.5)(GREYS)) == [[69, 119], [169, 196]]  # around their mean, 138.75
    assert shrunk(16)(np.zeros((48, 48, 3), np.uint8)).shape == (16, 16, 3)
    edge = np.repeat(np.array([0] * 8 + [255] * 8, np.uint8)[None, :, None], 3, axis=2)
    assert 0 < blurred(1)(edge)[0, 7, 0] < 128 < blurred(1)(edge)[0, 8, 0] < 255


def test_a_motion_blurs_one_direction_and_noise_comes_on_top() -> None:
    stripes = np.repeat(
        np.tile(np.array([0, 0, 255, 255], np.uint8), (16, 4))[..., None], 3, axis=2
    )
    assert np.array_equal(moved(5, 90)(stripes), stripes)
    assert np.ptp(moved(5, 0)(stripes)[:, 4:-4]) < 100
    grain = grainy(4, lambda face: face)(np.full((48, 48, 3), 100, np.uint8))
    assert 3 < grain.std() < 5
    assert (grain == grain[..., :1]).all()


def test_a_face_that_fills_its_picture_is_cropped_as_it_is() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (48, 48, 3), np.uint8)
    face = framed_face(FERPLUS_FRAMING.points, 48)
    points = [face.left_eye, face.right_eye, face.mouth]
    assert similarity(points, (FERPLUS_FRAMING.points * 48).tolist()).turn == pytest.approx(1)
    seen = crop(picture, face, FERPLUS_FRAMING, 48, 1)[0]
    assert np.abs(seen.astype(int) - cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)).max() <= 1


def test_a_happy_portrait_is_read_in_the_dark_and_not_as_a_blur(tmp_path: Path) -> None:
    data = (resources.files("rankotom_edge.sources") / "eileen-collins.jpg").read_bytes()
    portrait = np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR), np.uint8)
    seen = crop(portrait, FACE, FERPLUS_FRAMING, 48, 1)[0]
    cv2.imwrite(str(tmp_path / "face.png"), seen)
    happy = np.array([EMOTIONS.index("happiness")])
    faces = FaceSet("made", (tmp_path / "face.png",), EMOTIONS, happy)
    found = fares(load_artifact("ferplus-fp32"), faces, threads=1)
    assert len(found) == 1 + sum(len(damages) for damages in DAMAGES.values())
    plain, dark = found["", "as they are"], found["light", "1/4 of the light"]
    assert (plain.accuracy, plain.poor) == (1, 0)
    assert (dark.accuracy, dark.poor) == (1, 0)
    assert found["light", "1/28 of the light"].poor == 1
    assert found["size", "13 pixels wide"].poor == 1
    assert found["sharpness", "blur of 2 px"].noticed < 0.5
    assert found["whole", "before it: hand"].poor == 1
    assert found["whole", "before it: mask"].noticed < 0.5
    assert found["whole", "before it: hand on an eye"].poor == 0


def test_too_sure_is_confidence_beyond_accuracy() -> None:
    assert Fared(0.7, 0.9, 1.0, 0.0).overconfidence == pytest.approx(0.2)
