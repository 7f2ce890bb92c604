"""A file is replaced whole or left as it was."""

import stat
from pathlib import Path

import pytest

from calib.errors import RankotomError
from calib.files import replacing


def test_the_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    with replacing(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
        assert temporary.suffix == ".json"
    assert path.read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["figures.json"]


def test_a_failure_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    path.write_text("old")

    def fail_halfway() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_halfway()
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["figures.json"]


def test_the_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    plain, replaced = tmp_path / "plain", tmp_path / "replaced"
    plain.write_text("")
    with replacing(replaced):
        pass
    assert stat.S_IMODE(replaced.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(RankotomError, match=r"no folder .*missing"),
        replacing(tmp_path / "missing" / "figures.json"),
    ):
        pass
