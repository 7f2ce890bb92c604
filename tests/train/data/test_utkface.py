"""UTKFace's file names say who is in the picture."""

from pathlib import Path

import pytest

from calib.errors import RankotomError
from train.data.utkface import load_utkface


def test_group_sex_and_age_are_read_from_the_name(tmp_path: Path) -> None:
    folder = tmp_path / "utkface-sample"
    folder.mkdir()
    for name in ("asian-female-17-0036.jpg", "white-male-70-0001.jpg", "readme.jpg"):
        (folder / name).touch()
    first, second = load_utkface(tmp_path)
    assert (first.group, first.sex, first.age, first.age_band) == (
        "asian",
        "female",
        17,
        "13 to 29",
    )
    assert second.age_band == "70 and over"
    assert load_utkface(folder) == (first, second)


def test_a_folder_without_it_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match=r"no UTKFace in .*utkface-sample\.zip"):
        load_utkface(tmp_path)
