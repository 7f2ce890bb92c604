from pathlib import Path

import pytest

from calib.errors import RankotomError
from rankotom_edge.analyze.videos import find_videos


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a/2.mp4", "a/10.MP4", "b/c/2.mkv", "a/._2.mp4", "a/notes.txt", "b/2.mp4"):
        path = tmp_path / "clips" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return tmp_path / "clips"


def names(*given: object) -> list[str]:
    return [video.name for video in find_videos(map(str, given))]


def test_a_folder_gives_its_videos_and_those_of_the_folders_inside_in_natural_order(
    folder: Path,
) -> None:
    expected = ["clips/a/2.mp4", "clips/a/10.MP4", "clips/b/2.mp4", "clips/b/c/2.mkv"]
    assert names(folder) == expected


def test_hidden_files_and_folders_are_left_out(folder: Path) -> None:
    before = names(folder)
    for name in (".Trash/2.mp4", "a/.cache/b/2.mp4", "a/.2.mp4"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    assert names(folder) == before
    assert names(folder / "*") == [name.removeprefix("clips/") for name in before]
    assert names(folder / ".Trash") == [".Trash/2.mp4"]


def test_a_glob_gives_names_from_where_it_begins_to_vary(folder: Path) -> None:
    assert names(folder / "*" / "2.mp4") == ["a/2.mp4", "b/2.mp4"]
    assert names(folder / "**" / "*.mkv") == ["b/c/2.mkv"]
    assert names(folder / "b*") == ["b/2.mp4", "b/c/2.mkv"]


def test_a_file_that_is_named_is_taken_whatever_it_is_called(folder: Path) -> None:
    (video,) = find_videos([str(folder / "a" / "notes.txt")])
    assert (video.name, video.size) == ("notes.txt", 1)
    assert video.path == str(folder / "a" / "notes.txt")


def test_a_video_that_is_named_twice_is_read_once(folder: Path) -> None:
    assert len(names(folder, folder)) == 4


def test_two_videos_of_one_name_are_refused_with_what_to_do(folder: Path) -> None:
    with pytest.raises(RankotomError, match=r"would both be 2\.mp4 in the results"):
        names(folder / "a" / "2.mp4", folder / "b" / "2.mp4")


@pytest.mark.parametrize("named", ["nowhere.mp4", "*.nothing"])
def test_nothing_found_is_an_error(folder: Path, named: str) -> None:
    with pytest.raises(RankotomError, match="There is no video"):
        names(folder / named)


def test_a_relative_name_becomes_absolute(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (video,) = find_videos(["b/c/2.mkv"])
    assert video.path == str(folder / "b" / "c" / "2.mkv")
