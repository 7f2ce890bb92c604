from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from train.data.datasets import (
    RAFDB_COMPOUND_LABELS,
    DatasetName,
    FaceSet,
    Split,
    data_folder,
    load_dataset,
    validation_half,
)

CACHE = data_folder(None)
needs_ferplus = pytest.mark.skipif(
    not (CACHE / "FERPlus" / "fer2013new.csv").exists(), reason=f"FERPlus is not in {CACHE}"
)
needs_lfw = pytest.mark.skipif(
    not (CACHE / "lfw-deepfunneled").exists(), reason=f"LFW is not in {CACHE}"
)

HEADER = f"Usage,Image name,{','.join(EMOTIONS)},unknown,NF"
ONE_OF_EACH = [
    f"Training,fer{index:07}.png,{','.join('8' if i == index else '0' for i in range(8))},2,0"
    for index in range(8)
]


def make_ferplus(root: Path, *rows: str, folder: str = "FER2013Train") -> Path:
    pictures = root / "data" / folder
    pictures.mkdir(parents=True, exist_ok=True)
    (root / "fer2013new.csv").write_text("\n".join((HEADER, *rows)) + "\n")
    for row in rows:
        if name := row.split(",")[1]:
            (pictures / name).touch()
    return root


def make_rafdb(root: Path, part: str, *lines: str) -> Path:
    (root / part / "EmoLabel").mkdir(parents=True)
    (root / part / "EmoLabel" / "list_patition_label.txt").write_text("\n".join(lines) + "\n")
    aligned = root / part / "Image" / "aligned"
    aligned.mkdir(parents=True)
    for line in lines:
        (aligned / f"{line.split('.')[0]}_aligned.jpg").touch()
    return root


def make_affectnet(root: Path, part: str, *labels: int) -> Path:
    for folder in ("images", "annotations"):
        (root / part / folder).mkdir(parents=True)
    for index, label in enumerate(labels):
        (root / part / "images" / f"{index}.jpg").touch()
        np.save(root / part / "annotations" / f"{index}_exp.npy", np.array(str(label)))
    return root


def load(name: DatasetName, folder: Path, split: Split = "train") -> FaceSet:
    return load_dataset(name, folder, split, check_count=False)


def class_names(faces: FaceSet) -> list[str]:
    assert faces.labels is not None
    return [faces.classes[label] for label in faces.labels]


def test_ferplus_takes_the_majority_and_keeps_the_votes(tmp_path: Path) -> None:
    faces = load("ferplus", make_ferplus(tmp_path, *ONE_OF_EACH))
    assert class_names(faces) == list(EMOTIONS)
    assert faces.votes is not None
    assert faces.votes.tolist() == (8 * np.eye(8)).tolist()
    assert faces.name == "ferplus/train"


def test_ferplus_ties_go_to_the_first_in_order(tmp_path: Path) -> None:
    tie = "PublicTest,fer0000100.png,0,0,4,0,4,0,0,0,2,0"
    make_ferplus(tmp_path, tie, folder="FER2013Valid")
    assert class_names(load("ferplus", tmp_path, "valid")) == ["surprise"]


def test_ferplus_leaves_out_what_is_no_face_or_shows_no_emotion(tmp_path: Path) -> None:
    rows = (
        "Training,,0,0,0,0,0,0,0,0,0,10",
        "Training,fer0000098.png,0,0,0,0,0,0,0,0,0,10",
        "Training,fer0000099.png,0,0,0,0,0,0,0,0,10,0",
        "Training,fer0000100.png,0,1,0,0,0,0,0,0,5,4",
    )
    faces = load("ferplus", make_ferplus(tmp_path, *ONE_OF_EACH, *rows))
    assert [file.name for file in faces.files[8:]] == ["fer0000100.png"]


def test_ferplus_takes_the_later_of_two_rows_of_one_name(tmp_path: Path) -> None:
    rows = (
        "PublicTest,fer0000100.png,9,0,0,0,0,0,0,0,1,0",
        "PublicTest,fer0000100.png,0,9,0,0,0,0,0,0,1,0",
    )
    make_ferplus(tmp_path, *rows, folder="FER2013Valid")
    assert class_names(load("ferplus", tmp_path, "valid")) == ["happiness"]


def test_the_parent_folder_of_a_data_set_is_accepted(tmp_path: Path) -> None:
    make_ferplus(tmp_path / "FERPlus", *ONE_OF_EACH)
    assert load("ferplus", tmp_path).files == load("ferplus", tmp_path / "FERPlus").files


def test_damaged_votes_name_the_row(tmp_path: Path) -> None:
    make_ferplus(tmp_path, "Training,fer0000000.png,8,x,0,0,0,0,0,0,2,0")
    with pytest.raises(RankotomError, match=r"fer0000000\.png"):
        load("ferplus", tmp_path)


def test_rafdb_reads_labels_from_one_to_seven_into_our_order(tmp_path: Path) -> None:
    train = [f"train_{number:05}.jpg {number}" for number in range(1, 8)]
    make_rafdb(tmp_path, "basic", *train, "test_0001.jpg 4")
    faces = load("rafdb", tmp_path)
    assert class_names(faces) == [
        *("surprise", "fear", "disgust", "happiness", "sadness", "anger", "neutral")
    ]
    assert faces.classes == EMOTIONS[:7]
    assert faces.files[0].name == "train_00001_aligned.jpg"
    for split in ("valid", "test"):
        held_out = load("rafdb", tmp_path, split)
        assert class_names(held_out) == ["happiness"]
        assert held_out.name == "rafdb/test"


def test_rafdb_compound_has_its_eleven_classes_in_the_official_order(tmp_path: Path) -> None:
    lines = [f"train_{number:04}.jpg {number}" for number in range(1, 12)]
    faces = load("rafdb-compound", make_rafdb(tmp_path, "compound", *lines))
    assert class_names(faces) == list(RAFDB_COMPOUND_LABELS)
    assert len(faces.classes) == 11


@pytest.mark.parametrize("line", ["train_00001.jpg 8", "train_00001.jpg 0", "train_00001.jpg"])
def test_an_invalid_rafdb_line_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(RankotomError, match="line 1"):
        load("rafdb", make_rafdb(tmp_path, "basic", line))


def test_affectnet_reads_eight_emotions_and_leaves_out_the_rest(tmp_path: Path) -> None:
    make_affectnet(tmp_path, "train_set", *range(11))
    faces = load("affectnet", tmp_path)
    assert class_names(faces) == [
        *("neutral", "happiness", "sadness", "surprise", "fear", "disgust", "anger", "contempt")
    ]


def test_affectnet_refuses_a_pickled_label(tmp_path: Path) -> None:
    make_affectnet(tmp_path, "val_set", 3)
    np.save(tmp_path / "val_set" / "annotations" / "0_exp.npy", np.array({}), allow_pickle=True)
    with pytest.raises(RankotomError, match=r"0_exp\.npy"):
        load("affectnet", tmp_path, "valid")


def test_lfw_is_every_photograph_and_has_no_labels(tmp_path: Path) -> None:
    for name in ("Ada_Lovelace/Ada_Lovelace_0001.jpg", "Ada_Lovelace/Ada_Lovelace_0002.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    faces = load("lfw", tmp_path)
    assert len(faces) == 2
    assert faces.labels is None
    with pytest.raises(RankotomError, match="no valid split"):
        load("lfw", tmp_path, "valid")


def test_a_count_other_than_the_papers_names_the_difference(tmp_path: Path) -> None:
    make_ferplus(tmp_path, *ONE_OF_EACH)
    with pytest.raises(RankotomError, match=r"28,558 .* has 8 \(28,550 missing\)"):
        load_dataset("ferplus", tmp_path, "train")


def test_a_class_without_a_face_is_named(tmp_path: Path) -> None:
    make_ferplus(tmp_path, *ONE_OF_EACH[:5], *ONE_OF_EACH[6:])
    with pytest.raises(RankotomError, match="no face of disgust"):
        load("ferplus", tmp_path)


def test_an_absent_split_is_named_with_its_folder(tmp_path: Path) -> None:
    make_ferplus(tmp_path, *ONE_OF_EACH)
    with pytest.raises(RankotomError, match=r"FERPlus test .*FER2013Test"):
        load("ferplus", tmp_path, "test")


@pytest.mark.parametrize("name", ["ferplus", "rafdb", "rafdb-compound", "affectnet", "lfw"])
def test_no_data_says_what_was_looked_for(tmp_path: Path, name: DatasetName) -> None:
    with pytest.raises(RankotomError, match=r"looked for .*--data"):
        load(name, tmp_path / "nowhere")


def test_a_data_set_still_packed_says_how_to_unpack_it(tmp_path: Path) -> None:
    (tmp_path / "ferplus.zip").touch()
    with pytest.raises(RankotomError, match=r"unzip -q .*ferplus\.zip"):
        load("ferplus", tmp_path)


def test_the_folder_is_the_given_one_then_the_environments_then_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RANKOTOM_DATA", raising=False)
    assert data_folder(None) == Path.home() / ".cache" / "rankotom-edge"
    monkeypatch.setenv("RANKOTOM_DATA", str(tmp_path))
    assert data_folder(None) == tmp_path
    assert data_folder(Path("elsewhere")) == Path("elsewhere")


def test_the_halves_split_by_parity_and_share_no_face(tmp_path: Path) -> None:
    faces = load("ferplus", make_ferplus(tmp_path, *ONE_OF_EACH))
    choose, report = validation_half(faces, "choose"), validation_half(faces, "report")
    assert class_names(choose) == list(EMOTIONS[0::2])
    assert class_names(report) == list(EMOTIONS[1::2])
    assert report.votes is not None
    assert report.votes.argmax(axis=1).tolist() == [1, 3, 5, 7]


@needs_ferplus
@pytest.mark.parametrize(("split", "usable"), [("train", 28_556), ("valid", 3_579)])
def test_the_real_ferplus_has_the_papers_count(split: Split, usable: int) -> None:
    assert len(load_dataset("ferplus", CACHE, split)) == usable


@needs_lfw
def test_the_real_lfw_has_the_papers_count() -> None:
    assert len(load_dataset("lfw", CACHE, "train")) == 13_233
