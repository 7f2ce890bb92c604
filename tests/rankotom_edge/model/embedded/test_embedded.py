"""The embedded model is what its file and the example predictions say of it."""

from pathlib import Path

import numpy as np
import pytest

from calib.emotions import EMOTIONS
from calib.metrics import accuracy, adaptive_ece, ece
from calib.prediction_files import read_predictions
from rankotom_edge.faces.crop import FERPLUS_FRAMING
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.classifier import Classifier

ROOT = Path(__file__).parents[4]
MODEL = load_artifact("ferplus-fp32")
REPORTED = read_predictions(ROOT / "docs/examples/fp32.npz")


def test_the_model_takes_faces_in_the_measured_framing() -> None:
    card = MODEL.card
    assert card.labels == EMOTIONS
    assert (card.crop.size, card.crop.channels) == (48, 1)
    assert card.crop.framing == FERPLUS_FRAMING
    assert card.recipe["name"] == "student-3"


def test_the_faces_that_it_reports_on_did_not_fit_its_temperature() -> None:
    card = MODEL.card
    assert card.measured_on.name == "ferplus/valid/report"
    assert [used.name for used in card.calibrated_on] == ["ferplus/valid/choose"]
    assert card.measured_on.count == len(REPORTED)


def test_the_metrics_in_the_file_are_those_of_the_example_predictions() -> None:
    metrics = MODEL.card.evaluation.metrics
    measured = {
        "accuracy": accuracy(REPORTED.probabilities, REPORTED.labels),
        "ece": ece(REPORTED.confidence, REPORTED.correct),
        "aece": adaptive_ece(REPORTED.confidence, REPORTED.correct),
    }
    assert {name: metrics[name].value for name in measured} == pytest.approx(measured, abs=2e-4)


def test_a_face_and_its_mirror_image_read_alike() -> None:
    crop = MODEL.card.crop
    noise = np.random.default_rng(0).normal(size=(4, 1, 6, 6)).repeat(8, axis=2).repeat(8, axis=3)
    faces = np.clip(128 + 60 * noise, 0, 255).astype(np.uint8)
    assert faces.shape[2:] == (crop.size, crop.size)
    classifier = Classifier(MODEL)
    straight, turned = classifier.classify(faces), classifier.classify(faces[..., ::-1].copy())
    np.testing.assert_allclose(straight.logits, turned.logits, atol=1e-4)
    np.testing.assert_allclose(straight.probabilities.sum(axis=1), 1, atol=1e-5)
