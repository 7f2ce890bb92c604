"""Predictions of a model file on a data set are those of the live classifier."""

from pathlib import Path

import numpy as np
import pytest

from calib.emotions import EMOTIONS
from export.faces import labelled_faces
from export.predict import predict, run_model
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.model.onnx_runtime import open_session
from train.data.datasets import FaceSet, load_dataset


@pytest.fixture
def faces(made_ferplus: Path) -> FaceSet:
    return load_dataset("ferplus", made_ferplus, "valid", check_count=False)


def test_predictions_are_the_classifiers_own(
    faces: FaceSet, tiny_artifact: Artifact, tmp_path: Path
) -> None:
    labelled = labelled_faces(faces, tiny_artifact.card.crop, EMOTIONS, tmp_path)
    predictions = predict(tiny_artifact, labelled)
    scores = Classifier(tiny_artifact).classify(np.array(labelled.pixels))
    np.testing.assert_allclose(predictions.probabilities, scores.probabilities, atol=1e-6)
    np.testing.assert_array_equal(predictions.labels, faces.labels)
    assert predictions.votes is not None
    np.testing.assert_array_equal(predictions.votes, faces.votes)
    assert predictions.classes == EMOTIONS


def test_batches_give_the_outputs_of_all_faces_in_order(tiny_artifact: Artifact) -> None:
    faces = np.random.default_rng(0).integers(0, 256, (130, 1, 32, 32), dtype=np.uint8)
    session = open_session(tiny_artifact.path)
    logits, probabilities = run_model(session, faces, ("logits", "probabilities"))
    assert logits.shape == probabilities.shape == (130, 8)
    last = session.run(["logits"], {"faces": faces[-1:]})[0]
    np.testing.assert_allclose(logits[-1:], last, atol=1e-5)
