"""A file is replaced whole or left as it was."""

import os
import stat
from pathlib import Path
from threading import Thread

import pytest

import calib.files
from calib.errors import RankotomError
from calib.files import check_target, replace_file


def fail_halfway(path: Path) -> None:
    with replace_file(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt


def test_the_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    with replace_file(path) as temporary:
        temporary.write_text("new")
        assert not path.exists()
        assert temporary.suffix == ".json"
    assert path.read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        fail_halfway(path)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]


def test_the_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    plain, replaced = tmp_path / "plain", tmp_path / "replaced"
    plain.write_text("")
    with replace_file(replaced):
        pass
    assert stat.S_IMODE(replaced.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_link_stays_a_link_to_the_new_content(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "report.json", tmp_path / "latest.json"
    target.write_text("old")
    link.symlink_to(target)
    with replace_file(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert [each.name for each in target.parent.iterdir()] == ["report.json"]


def test_a_link_to_a_file_that_is_not_there_yet_makes_it(tmp_path: Path) -> None:
    link = tmp_path / "latest.json"
    link.symlink_to(tmp_path / "report.json")
    with replace_file(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert (tmp_path / "report.json").read_text() == "new"


@pytest.mark.parametrize("linked", [False, True])
def test_a_fifo_is_written_into_and_stays_one(tmp_path: Path, linked: bool) -> None:
    fifo = path = tmp_path / "report.json"
    os.mkfifo(fifo)
    if linked:
        path = tmp_path / "link.json"
        path.symlink_to(fifo)
    received: list[str] = []
    reader = Thread(target=lambda: received.append(fifo.read_text()), daemon=True)
    reader.start()
    with replace_file(path) as temporary:
        temporary.write_text("new")
    reader.join(timeout=60)
    assert received == ["new"]
    assert fifo.is_fifo()
    assert path.is_symlink() is linked


def test_a_fifo_without_a_reader_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calib.files, "READER_WAIT", 0.1)
    fifo = tmp_path / "report.json"
    os.mkfifo(fifo)
    with pytest.raises(RankotomError, match="no program reads it"), replace_file(fifo) as temporary:
        temporary.write_text("new")


def test_nothing_goes_into_a_fifo_when_the_block_fails(tmp_path: Path) -> None:
    fifo = tmp_path / "report.json"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(KeyboardInterrupt):
        fail_halfway(fifo)
    assert os.read(reader, 100) == b""
    os.close(reader)


def test_a_name_as_long_as_a_name_may_be_is_written(tmp_path: Path) -> None:
    path = tmp_path / f"{'n' * 250}.json"
    with replace_file(path) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "new"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing/report.json", r"no folder .*missing; make it first"),
        (f"{'n' * 300}.json", "File name too long"),
        ("", "it is a folder"),
    ],
)
def test_what_could_not_be_written_can_be_known_before_the_work(
    tmp_path: Path, name: str, words: str
) -> None:
    with pytest.raises(RankotomError, match=words):
        check_target(tmp_path / name)
    with pytest.raises(RankotomError, match=words), replace_file(tmp_path / name):
        pytest.fail("the work was done")


def test_a_check_leaves_nothing_behind(tmp_path: Path) -> None:
    fifo, old = tmp_path / "fifo", tmp_path / "old.json"
    os.mkfifo(fifo)
    old.write_text("old")
    for path in (fifo, old, tmp_path / "new.json"):
        check_target(path)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["fifo", "old.json"]
    assert old.read_text() == "old"
