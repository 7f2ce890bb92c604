"""Photographs read as the program reads them, counted by group."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from rankotom_edge.frame import Image
from rankotom_edge.live.build import open_classifier, open_reader
from rankotom_edge.sources.demo import load_portrait
from train.data.utkface import Person, load_utkface
from train.experiments.groups import (
    Photograph,
    group_photographs,
    jitter,
    kind_table,
    main,
    mirror,
    read_photograph,
    share_text,
    summary_table,
    unsure_reason,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The demo's portrait as one person, an empty wall as another."""
    wall = np.full((200, 200, 3), 128, np.uint8)
    pictures = {"white-female-52-0001.jpg": load_portrait(), "black-male-31-0002.jpg": wall}
    for name, picture in pictures.items():
        cv2.imwrite(str(tmp_path / name), picture)
    return tmp_path


@pytest.fixture
def photographs(folder: Path) -> list[Photograph]:
    with (
        open_classifier("ferplus-int8") as (classifier, _),
        open_reader(classifier, stills=True) as reader,
    ):
        random = np.random.default_rng(0)
        return [read_photograph(reader, person, random) for person in load_utkface(folder)]


def test_a_face_is_read_again_mirrored_and_jittered(photographs: list[Photograph]) -> None:
    wall, portrait = photographs
    assert (wall.reading, wall.same_mirrored, wall.same_jittered) == (None, None, None)
    assert portrait.reading is not None
    assert portrait.reading.top == "happiness"
    assert portrait.same_mirrored
    assert portrait.same_jittered


def test_everybody_is_counted_in_all_and_in_each_grouping(photographs: list[Photograph]) -> None:
    sizes = {name: len(members) for name, members in group_photographs(photographs)}
    assert sizes == {
        "all": 2, "black": 1, "white": 1, "female": 1, "male": 1, "30 to 49": 1, "50 to 69": 1
    }  # fmt: skip


def test_tables_are_markdown_with_a_row_for_each_group(photographs: list[Photograph]) -> None:
    rows = summary_table(photographs).splitlines()
    assert rows[0].startswith("|  | photographs | found | sure |")
    assert rows[2].startswith("| all | 2 | 50.0 (9 to 91) | 100.0 (21 to 100) |")
    assert "| black | 1 | 0.0 (0 to 79) | – |" in rows[3]
    kinds = kind_table(photographs, lambda reading: reading.top).splitlines()
    assert kinds[0] == "|  | happiness |"
    reading = photographs[1].reading
    assert reading is not None
    assert unsure_reason(reading) is None
    assert unsure_reason(replace(reading, verdict="unsure", poor=None)) == "not confident enough"
    assert unsure_reason(replace(reading, verdict="unsure", poor="blurred")) == "blurred"


def test_a_share_has_wilsons_interval_and_no_faces_a_dash() -> None:
    assert share_text([True] * 9 + [False]) == "90.0 (60 to 98)"
    assert share_text([]) == "–"


def test_jitter_moves_and_lights_a_picture_slightly(folder: Path) -> None:
    picture = load_portrait()
    changed: Image = jitter(picture, np.random.default_rng(0))
    assert changed.shape == picture.shape
    difference = np.abs(changed.astype(int) - picture.astype(int)).mean()
    assert 2 < difference < 60
    assert np.array_equal(mirror(mirror(picture)), picture)


def test_the_command_prints_three_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main("ferplus-int8", folder)
    printed = capsys.readouterr().out
    assert printed.startswith("ferplus-int8 on 2 photographs of UTKFace")
    assert printed.count("| all |") == 3


def test_a_person_has_an_age_band() -> None:
    assert Person(Path("x"), "asian", "male", 5).age_band == "0 to 12"
