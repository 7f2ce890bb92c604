"""The faces that the table of covered mouths is fitted on, and the fit."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from train.data.datasets import FaceSet
from train.data.face_covers import MOUTH_COVERS
from train.experiments.covered_mouths import count_edges, ferplus_faces, fit_weights


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    files = tuple(tmp_path / f"{number}.png" for number in range(5))
    for number, file in enumerate(files):
        cv2.imwrite(str(file), np.full((48, 48), 40 * number, np.uint8))
    return FaceSet("made", files, ("calm",))


def test_every_nth_face_comes_grey_and_bare_or_with_its_cover(faces: FaceSet) -> None:
    bare = list(ferplus_faces(faces, 2, None))
    assert [face.mean() for face in bare] == [0, 80, 160]
    covered = list(ferplus_faces(faces, 2, MOUTH_COVERS["mask"]))
    assert [face.shape for face in covered] == [(48, 48)] * 3
    assert not count_edges(bare).any()
    assert count_edges(covered).any(axis=1).all()


def test_the_fit_weighs_the_feature_that_differs() -> None:
    random = np.random.default_rng(0)
    bare, hidden = random.normal(0, 1, (2, 400, 3))
    hidden[:, 1] += 2
    weights = fit_weights(bare, hidden)
    assert weights.shape == (3,)
    assert weights[1] == pytest.approx(2, abs=0.4)
    assert np.abs(weights[[0, 2]]).max() < 0.4
