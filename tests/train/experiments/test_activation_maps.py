"""Figure 2 as a number, and its picture of the most confident faces and their evidence."""

from pathlib import Path

import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.classifier import Classifier
from train.experiments.activation_maps import (
    ClassifiedFace,
    classify_faces,
    compare_shares,
    draw,
    main,
    most_confident,
    share_above_half,
)
from train.experiments.rank_order import draw_pairs


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


@pytest.mark.parametrize(
    ("evidence", "share"),
    [
        ([[4.0, 2.0], [1.0, 0.0]], 0.25),  # a cell at half of the maximum is not above it
        ([[4.0, 2.1], [-9.0, 0.0]], 0.5),
        ([[3.0, 3.0], [3.0, 3.0]], 1.0),
        ([[-1.0, -2.0], [-3.0, -1.0]], 0.0),  # nothing speaks for the emotion
    ],
)
def test_how_much_of_a_map_is_above_half_of_its_maximum(
    evidence: list[list[float]], share: float
) -> None:
    assert share_above_half(np.array(evidence, np.float32)) == share


def test_blends_are_compared_with_the_mean_of_their_two_faces() -> None:
    upper, lower = draw_pairs(40)
    faces = np.random.default_rng(1).random(40)
    blends = (faces[upper] + faces[lower]) / 2 + 0.1
    everyone = np.ones(40, np.bool_)
    originals, blended, difference = compare_shares(faces, blends, everyone)
    assert difference == pytest.approx([0.1, 0.1, 0.1])
    assert originals[0] == pytest.approx(faces.mean())
    assert blended == pytest.approx(originals + 0.1)
    assert originals[1] < originals[0] < originals[2]
    chosen = np.arange(40) < 7
    assert compare_shares(faces, blends, chosen)[1, 0] == pytest.approx(blends[:7].mean())


def test_the_interval_is_that_of_a_mean() -> None:
    """Half of 400 pairs differ by 0 and half by 1: 0.5, and 1.96 x 0.5 / 20 on both sides."""
    _, _, difference = compare_shares(np.zeros(400), np.arange(400) % 2.0, np.ones(400, np.bool_))
    assert difference == pytest.approx([0.5, 0.451, 0.549], abs=0.01)


def test_the_number_is_printed_without_the_picture_for_either_half(
    tiny_artifact: Artifact, made_ferplus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for half in ("choose", "report"):
        main(None, str(tiny_artifact.path), made_ferplus, half, check_count=False)
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == f"tiny on ferplus/valid/{half}"
        assert lines[2].startswith("Share of the 2 x 2 map above half of its maximum")
        assert lines[3] == "  20 all pairs"
        assert [line[4:22].strip() for line in lines[4:7]] == [
            "faces",
            "blends",
            "blends less faces",
        ]
