"""Figure 2 takes the most confident faces and draws their evidence."""

from pathlib import Path

import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.classifier import Classifier
from train.experiments.activation_maps import ClassifiedFace, classify_faces, draw, most_confident


def face_of(emotion: str, confidence: float) -> ClassifiedFace:
    return ClassifiedFace(
        np.zeros((8, 8), np.uint8), emotion, confidence, np.ones((2, 2), np.float32)
    )


def test_the_most_confident_face_of_an_emotion_is_taken_once() -> None:
    faces = [face_of("anger", 0.9), face_of("fear", 0.99), face_of("anger", 0.95)]
    taken: set[int] = set()
    assert [most_confident(faces, "anger", taken), most_confident(faces, "anger", taken)] == [2, 0]
    with pytest.raises(RankotomError, match="no face of anger"):
        most_confident(faces, "anger", taken)


def test_a_face_shows_the_evidence_for_its_own_emotion(tiny_artifact: Artifact) -> None:
    crop = tiny_artifact.card.crop
    faces = np.random.default_rng(0).integers(
        0, 256, (3, crop.channels, crop.size, crop.size), dtype=np.uint8
    )
    classifier = Classifier(tiny_artifact)
    scores = classifier.classify(faces)
    assert scores.evidence is not None
    for index, face in enumerate(classify_faces(classifier, faces)):
        best = int(scores.probabilities[index].argmax())
        assert face.emotion == tiny_artifact.card.labels[best]
        assert face.confidence == pytest.approx(float(scores.probabilities[index, best]))
        assert np.array_equal(face.evidence, scores.evidence[index, best])


def test_the_figure_is_a_png_file(tmp_path: Path) -> None:
    rows = [[face_of("anger", 0.9), face_of("fear", 0.8), face_of("anger", 0.5)] for _ in range(2)]
    draw(rows, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
