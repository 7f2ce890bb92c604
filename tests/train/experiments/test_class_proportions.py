"""Class proportions of every data set, from small folders in their official layouts."""

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from train.data.datasets import AFFECTNET_LABELS, RAFDB_COMPOUND_LABELS, RAFDB_LABELS
from train.experiments.class_proportions import LabelledName, class_counts, load_splits, main

MAKE = runpy.run_path(str(Path(__file__).parents[1] / "data" / "test_datasets.py"))


def make_ferplus(root: Path) -> None:
    def rows(usage: str, counts: tuple[int, ...], first: int) -> list[str]:
        classes = [index for index, count in enumerate(counts) for _ in range(count)]
        return [
            f"{usage},fer{first + number:07}.png,"
            f"{','.join('9' if each == index else '0' for each in range(8))},1,0"
            for number, index in enumerate(classes)
        ]

    train = rows("Training", (4, 1, 1, 1, 1, 1, 2, 1), 0)
    valid = rows("PublicTest", (2, 1, 0, 0, 0, 0, 0, 0), 100)
    for folder, wanted in (("FER2013Train", train), ("FER2013Valid", valid)):
        MAKE["make_ferplus"](root, *wanted, folder=folder)
    (root / "fer2013new.csv").write_text("\n".join((MAKE["HEADER"], *train, *valid)) + "\n")


def make_rafdb(root: Path, part: str, classes: int) -> None:
    numbers = [*range(1, classes + 1), 3, 3]
    train = [f"train_{place:05}.jpg {number}" for place, number in enumerate(numbers)]
    MAKE["make_rafdb"](root, part, *train, "test_0001.jpg 4", "test_0002.jpg 5")


def make_affectnet(root: Path) -> None:
    MAKE["make_affectnet"](root, "train_set", *range(8), 1, 1, 9)  # 9 is no emotion
    MAKE["make_affectnet"](root, "val_set", 0, 7)


MADE: dict[LabelledName, tuple[Callable[[Path], None], str, str]] = {
    "ferplus": (make_ferplus, EMOTIONS[0], EMOTIONS[6]),
    "rafdb": (lambda root: make_rafdb(root, "basic", 7), RAFDB_LABELS[2], EMOTIONS[0]),
    "rafdb-compound": (
        lambda root: make_rafdb(root, "compound", 11),
        RAFDB_COMPOUND_LABELS[2],
        RAFDB_COMPOUND_LABELS[0],
    ),
    "affectnet": (make_affectnet, AFFECTNET_LABELS[1], EMOTIONS[0]),
}


@pytest.mark.parametrize("dataset", MADE)
def test_every_data_set_has_a_row_a_class_the_most_common_first_and_a_plot(
    dataset: LabelledName, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, most, second = MADE[dataset]
    make(tmp_path)
    plot = tmp_path / "classes.png"
    main(dataset, plot, tmp_path, check_count=False)
    header, first, *others, total = capsys.readouterr().out.splitlines()
    assert header.split()[0::2] == ["train", "test" if "rafdb" in dataset else "valid"]
    assert first.startswith(most)
    assert others[0].startswith(second)
    train, held_out = load_splits(dataset, tmp_path, check_count=False)
    assert len(others) == len(train.classes) - 1
    assert total.split() == ["all", str(len(train)), "100.0", str(len(held_out)), "100.0"]
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_the_shares_are_those_of_the_split(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_ferplus(tmp_path)
    main("ferplus", None, tmp_path, check_count=False)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1] == ["neutral", "4", "33.3", "2", "66.7"]  # 4 of 12, and 2 of 3
    assert lines[2] == ["fear", "2", "16.7", "0", "0.0"]
    train, valid = load_splits("ferplus", tmp_path, check_count=False)
    assert class_counts(train).tolist() == [4, 1, 1, 1, 1, 1, 2, 1]
    assert class_counts(valid).tolist() == [2, 1, 0, 0, 0, 0, 0, 0]


def test_an_incomplete_data_set_is_refused_unless_asked_for(tmp_path: Path) -> None:
    make_affectnet(tmp_path)
    with pytest.raises(RankotomError, match="should have 287,651 pictures"):
        main("affectnet", None, tmp_path)
