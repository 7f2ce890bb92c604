"""From a folder of data sets to the faces and targets of a recipe."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from train.data.datasets import FaceSet, data_folder
from train.recipe import EDGE_FERPLUS, PAPER_FERPLUS, PAPER_RAFDB
from train.training_set import dataset_framing, load_training_faces, training_targets, vote_targets

CACHE = data_folder(None)
needs_framed_ferplus = pytest.mark.skipif(
    not list((CACHE / "framed").glob("ferplus-train-*-48x48x1-*.npy"))
    or not (CACHE / "FERPlus" / "fer2013new.csv").exists(),
    reason=f"FERPlus, framed by a first run, is not in {CACHE}",
)
SMALL = replace(EDGE_FERPLUS, name="small", size=24, face_recognition=False)


@pytest.fixture
def ferplus(tmp_path: Path) -> Path:
    """FERPlus in its official layout with a face of each emotion in train and in valid."""
    random = np.random.default_rng(0)
    rows = [f"Usage,Image name,{','.join(EMOTIONS)},unknown,NF"]
    for usage, folder in (("Training", "FER2013Train"), ("PublicTest", "FER2013Valid")):
        (tmp_path / "data" / folder).mkdir(parents=True)
        for number in range(8):
            votes = [6 if index == number else 0 for index in range(8)]
            votes[(number + 1) % 8] = 3
            votes[(number + 2) % 8] = 1
            name = f"fer{number:07}.png"
            rows.append(f"{usage},{name},{','.join(map(str, votes))},0,0")
            face = random.integers(0, 256, (48, 48), dtype=np.uint8)
            cv2.imwrite(str(tmp_path / "data" / folder / name), face)
    (tmp_path / "fer2013new.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def test_a_single_voter_against_the_others_does_not_count() -> None:
    votes = np.array([[7.0, 2.0, 1.0, 0.0]])
    assert vote_targets(votes).tolist() == [pytest.approx([7 / 9, 2 / 9, 0, 0])]


def test_without_agreement_every_vote_counts() -> None:
    votes = np.array([[1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]])
    assert vote_targets(votes).tolist() == [
        pytest.approx([1 / 3, 1 / 3, 0, 1 / 3]),
        [0.0, 0.0, 1.0, 0.0],
    ]


def test_vote_targets_are_distributions() -> None:
    votes = np.random.default_rng(0).multinomial(10, np.full(8, 1 / 8), size=200).astype(float)
    targets = vote_targets(votes)
    assert targets.dtype == np.float32
    np.testing.assert_allclose(targets.sum(axis=1), 1, atol=1e-6)


def test_majority_targets_are_one_hot_labels() -> None:
    faces = FaceSet("made", (Path("a"), Path("b")), ("x", "y", "z"), np.array([2, 0]))
    assert training_targets(PAPER_FERPLUS, faces).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_both_is_the_mean_of_the_label_and_the_votes() -> None:
    votes = np.array([[4.0, 4.0, 2.0], [0.0, 0.0, 10.0]])  # a tie goes to the first
    faces = FaceSet("made", (Path("a"), Path("b")), ("x", "y", "z"), np.array([0, 2]), votes)
    targets = training_targets(replace(EDGE_FERPLUS, targets="both"), faces)
    np.testing.assert_allclose(targets, [[0.7, 0.2, 0.1], [0, 0, 1]], atol=1e-6)


def test_missing_votes_are_a_clear_error() -> None:
    faces = FaceSet("rafdb/train", (Path("a"),), ("x", "y"), np.array([1]))
    with pytest.raises(
        RankotomError, match="edge-ferplus trains on votes, and rafdb/train has none"
    ):
        training_targets(EDGE_FERPLUS, faces)


def test_ferplus_in_its_layout_becomes_pixels_labels_and_targets(
    ferplus: Path, tmp_path: Path
) -> None:
    faces = load_training_faces(SMALL, ferplus, tmp_path / "framed", check_count=False)
    assert faces.classes == EMOTIONS
    assert faces.fer.shape == (8, 1, 24, 24)
    assert faces.labels.tolist() == list(range(8))
    assert faces.targets[0].tolist() == pytest.approx([2 / 3, 1 / 3, 0, 0, 0, 0, 0, 0])
    assert faces.fr is None
    assert len(list((tmp_path / "framed").iterdir())) == 2


def test_the_choosing_half_has_the_even_numbers_of_valid(ferplus: Path, tmp_path: Path) -> None:
    faces = load_training_faces(SMALL, ferplus, tmp_path / "framed", check_count=False)
    assert faces.choose.shape == (4, 1, 24, 24)
    assert faces.choose_labels.tolist() == [0, 2, 4, 6]


def test_an_incomplete_data_set_is_an_error_unless_the_count_is_not_checked(
    ferplus: Path, tmp_path: Path
) -> None:
    with pytest.raises(RankotomError, match="28,558"):
        load_training_faces(SMALL, ferplus, tmp_path / "framed")


def test_missing_face_recognition_faces_are_a_clear_error(ferplus: Path, tmp_path: Path) -> None:
    recipe = replace(SMALL, face_recognition=True)
    with pytest.raises(RankotomError, match="No LFW in"):
        load_training_faces(recipe, ferplus, tmp_path / "framed", check_count=False)


def test_a_folder_without_the_data_set_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match=r"No RAF-DB in .*--data"):
        load_training_faces(PAPER_RAFDB, tmp_path, tmp_path / "framed")


def test_a_data_set_where_no_face_is_found_has_no_framing() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (3, 3, 48, 48), dtype=np.uint8)
    with pytest.raises(RankotomError, match="No face found"):
        dataset_framing(PAPER_RAFDB, noise)


@needs_framed_ferplus
def test_the_real_ferplus_has_the_papers_faces_less_two_without_a_vote() -> None:
    recipe = replace(EDGE_FERPLUS, face_recognition=False)
    faces = load_training_faces(recipe, CACHE, CACHE / "framed")
    assert faces.fer.shape == (28_556, 1, 48, 48)
    assert faces.choose.shape == (1_790, 1, 48, 48)
    np.testing.assert_allclose(faces.targets.sum(axis=1), 1, atol=1e-6)
    assert (faces.targets.argmax(axis=1) == faces.labels).mean() > 0.999
