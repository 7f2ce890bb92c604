"""Only ordinary files of a plausible size are read."""

import os
from pathlib import Path

import pytest

from calib.errors import RankotomError
from calib.input_files import check_input, expand_home, open_input, read_input, read_private


def test_an_ordinary_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"twelve bytes")
    assert read_input(path, most=12) == b"twelve bytes"
    check_input(path, most=12)


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(RankotomError, match=r"1,000,000,000,000 bytes, and at most 1,000 are read"):
        read_input(path, most=1000)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no /proc")
def test_a_file_that_hides_its_size_is_refused_after_the_limit() -> None:
    with pytest.raises(RankotomError, match="more than 100 bytes"):
        read_input(Path("/proc/self/maps"), most=100)


def test_a_library_gets_no_file_that_is_empty_or_seems_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RankotomError, match="it is empty"):
        check_input(tmp_path / "file")


@pytest.mark.parametrize("kind", ["fifo", "link to a device", "folder", "missing", "loop", "null"])
def test_what_is_no_ordinary_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link to a device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "null":
        path = tmp_path / "a\0b"
    for read in (open_input, read_input, check_input):
        with pytest.raises(RankotomError, match="Cannot read"):
            read(path)


def test_a_secret_is_read_only_where_nobody_else_can(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("sesame\n")
    path.chmod(0o600)
    assert read_private(path, 100, "token") == "sesame\n"
    path.chmod(0o640)
    with pytest.raises(RankotomError, match=r"Other users can read the token.*chmod 600"):
        read_private(path, 100, "token")


def test_a_fifo_or_a_large_file_is_no_secret(tmp_path: Path) -> None:
    fifo, large = tmp_path / "fifo", tmp_path / "large"
    os.mkfifo(fifo, 0o600)
    large.write_bytes(bytes(101))
    large.chmod(0o600)
    for path in (fifo, large):
        with pytest.raises(RankotomError, match="Cannot read"):
            read_private(path, 100, "token")


def test_the_home_of_nobody_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert expand_home("~/x") == Path("/home/ada/x")
    assert expand_home("~nouser/x") == Path("~nouser/x")
