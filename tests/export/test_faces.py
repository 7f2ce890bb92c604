"""Faces in a model's crop: the same labels in the model's order, and a hash of what was used."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from export.faces import faces_hash, labelled_faces, unlabelled_faces
from rankotom_edge.model.card import ModelCard
from train.data.datasets import FaceSet, load_dataset


@pytest.fixture
def faces(made_ferplus: Path) -> FaceSet:
    return load_dataset("ferplus", made_ferplus, "valid", check_count=False)


def test_a_data_set_with_fewer_emotions_is_matched_by_name(
    faces: FaceSet, tiny_card: ModelCard, tmp_path: Path
) -> None:
    fewer = replace(
        faces,
        classes=("fear", "neutral"),
        labels=np.arange(len(faces)) % 2,
        votes=np.tile([3.0, 7.0], (len(faces), 1)),
    )
    labelled = labelled_faces(fewer, tiny_card.crop, EMOTIONS, tmp_path)
    assert labelled.labels[:3].tolist() == [6, 0, 6]
    assert labelled.votes is not None
    assert labelled.votes[0].tolist() == [7, 0, 0, 0, 0, 0, 3, 0]


def test_a_data_set_with_other_labels_or_none_is_refused(
    faces: FaceSet, tiny_card: ModelCard, tmp_path: Path
) -> None:
    with pytest.raises(RankotomError, match="contempt"):
        labelled_faces(faces, tiny_card.crop, EMOTIONS[:7], tmp_path)
    unlabelled = replace(faces, classes=(), labels=None, votes=None)
    with pytest.raises(RankotomError, match="no labels"):
        labelled_faces(unlabelled, tiny_card.crop, EMOTIONS, tmp_path)


def test_the_hash_depends_on_pixels_labels_and_their_order() -> None:
    pixels = np.arange(32, dtype=np.uint8).reshape(2, 1, 4, 4)
    labels = np.array([0, 1])
    same = faces_hash(pixels.copy(), labels.copy())
    assert faces_hash(pixels, labels) == same
    assert faces_hash(pixels[::-1], labels) != same
    assert faces_hash(pixels + 1, labels) != same
    assert faces_hash(pixels, labels[::-1]) != same


def test_faces_without_labels_are_named_counted_and_hashed() -> None:
    pixels = np.arange(32, dtype=np.uint8).reshape(2, 1, 4, 4)
    used = unlabelled_faces("album/judge", pixels).used
    assert (used.name, used.count) == ("album/judge", 2)
    assert used.sha256 == faces_hash(pixels, np.empty(0, np.int64))
