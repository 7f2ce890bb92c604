"""Faces in, calibrated probabilities out."""

import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.artifact import Artifact
from rankotom_edge.classifier import Classifier, fastest_classifier


@pytest.fixture(scope="module")
def classifier(tiny_artifact: Artifact) -> Classifier:
    return Classifier(tiny_artifact)


@pytest.fixture(scope="module")
def faces() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (5, 1, 32, 32), dtype=np.uint8)


def test_each_face_gets_a_row_of_probabilities_and_its_evidence(
    classifier: Classifier, faces: np.ndarray
) -> None:
    scores = classifier.classify(faces)
    assert scores.logits.shape == scores.probabilities.shape == (5, 8)
    np.testing.assert_allclose(scores.probabilities.sum(axis=1), 1, atol=1e-6)
    assert scores.evidence is not None
    assert scores.evidence.shape == (5, 8, 2, 2)


def test_a_face_gets_the_same_answer_alone_and_in_company(
    classifier: Classifier, faces: np.ndarray
) -> None:
    together = classifier.classify(faces).logits
    alone = np.concatenate([classifier.classify(face[np.newaxis]).logits for face in faces])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_no_faces_get_no_rows(classifier: Classifier, faces: np.ndarray) -> None:
    scores = classifier.classify(faces[:0])
    assert scores.logits.shape == scores.probabilities.shape == (0, 8)
    assert scores.evidence is not None
    assert scores.evidence.shape == (0, 8, 2, 2)


def test_faces_that_are_not_in_memory_order_are_read_right(
    classifier: Classifier, faces: np.ndarray
) -> None:
    backwards = classifier.classify(faces[::-1]).logits
    np.testing.assert_allclose(backwards, classifier.classify(faces).logits[::-1], atol=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((1, 32, 32), np.uint8),
        np.zeros((1, 3, 32, 32), np.uint8),
        np.zeros((1, 1, 48, 48), np.uint8),
        np.zeros((0, 1, 48, 48), np.uint8),
        np.zeros((1, 1, 32, 32), np.float32),
    ],
    ids=["one face", "colour", "another size", "none of another size", "floats"],
)
def test_faces_of_another_shape_or_type_are_refused(
    classifier: Classifier, wrong: np.ndarray
) -> None:
    with pytest.raises(RankotomError, match=r"tiny takes faces of bytes \(n, 1, 32, 32\)"):
        classifier.classify(wrong)


def test_without_a_gpu_the_cpu_reads_and_nothing_is_said(tiny_artifact: Artifact) -> None:
    classifier, why = fastest_classifier(tiny_artifact)
    assert (classifier.provider, why) == ("cpu", None)


def test_a_gpu_that_does_not_work_gives_way_to_the_cpu_with_the_reason(
    tiny_artifact: Artifact, faces: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where onnxruntime-gpu is installed and the driver is not."""
    monkeypatch.setattr("rankotom_edge.classifier.providers_here", lambda: ("cpu", "cuda"))
    classifier, why = fastest_classifier(tiny_artifact)
    assert classifier.provider == "cpu"
    assert classifier.classify(faces).logits.shape == (5, 8)
    assert why == (
        "ONNX Runtime cannot load its cuda provider here. The CPU reads the faces instead."
    )
    with pytest.raises(RankotomError, match="cannot load its cuda provider"):
        fastest_classifier(tiny_artifact, "cuda")


def test_a_provider_that_is_not_installed_is_an_error_that_says_what_is(
    tiny_artifact: Artifact,
) -> None:
    with pytest.raises(RankotomError, match=r"no tensorrt provider; it has cpu\. For a GPU: pip"):
        fastest_classifier(tiny_artifact, "tensorrt")
