"""What a model says about a data set: the same labels, the same order, the same numbers."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from export.predict import faces_hash, labelled_faces, predict
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.card import ModelCard
from rankotom_edge.model.classifier import Classifier
from train.data.datasets import FaceSet, load_dataset


@pytest.fixture
def faces(made_ferplus: Path) -> FaceSet:
    return load_dataset("ferplus", made_ferplus, "valid", check_count=False)


def test_predictions_are_the_classifiers_own(
    faces: FaceSet, tiny_artifact: Artifact, tmp_path: Path
) -> None:
    asked = labelled_faces(faces, tiny_artifact.card.crop, EMOTIONS, tmp_path)
    predictions = predict(tiny_artifact, asked)
    scores = Classifier(tiny_artifact).classify(np.array(asked.pixels))
    np.testing.assert_allclose(predictions.probabilities, scores.probabilities, atol=1e-6)
    np.testing.assert_array_equal(predictions.labels, faces.labels)
    assert predictions.votes is not None
    np.testing.assert_array_equal(predictions.votes, faces.votes)
    assert predictions.classes == EMOTIONS


def test_a_data_set_that_knows_fewer_emotions_is_matched_by_name(
    faces: FaceSet, tiny_card: ModelCard, tmp_path: Path
) -> None:
    fewer = replace(
        faces,
        classes=("fear", "neutral"),
        labels=np.arange(len(faces)) % 2,
        votes=np.tile([3.0, 7.0], (len(faces), 1)),
    )
    asked = labelled_faces(fewer, tiny_card.crop, EMOTIONS, tmp_path)
    assert asked.labels[:3].tolist() == [6, 0, 6]
    assert asked.votes is not None
    assert asked.votes[0].tolist() == [7, 0, 0, 0, 0, 0, 3, 0]


def test_a_data_set_with_other_labels_or_none_cannot_judge(
    faces: FaceSet, tiny_card: ModelCard, tmp_path: Path
) -> None:
    with pytest.raises(RankotomError, match="contempt"):
        labelled_faces(faces, tiny_card.crop, EMOTIONS[:7], tmp_path)
    unlabelled = replace(faces, classes=(), labels=None, votes=None)
    with pytest.raises(RankotomError, match="no labels"):
        labelled_faces(unlabelled, tiny_card.crop, EMOTIONS, tmp_path)


def test_the_hash_tells_other_pixels_other_labels_and_another_order() -> None:
    pixels = np.arange(32, dtype=np.uint8).reshape(2, 1, 4, 4)
    labels = np.array([0, 1])
    same = faces_hash(pixels.copy(), labels.copy())
    assert faces_hash(pixels, labels) == same
    assert faces_hash(pixels[::-1], labels) != same
    assert faces_hash(pixels + 1, labels) != same
    assert faces_hash(pixels, labels[::-1]) != same
