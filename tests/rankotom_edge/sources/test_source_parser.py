from __future__ import annotations

import os
from pathlib import Path

import pytest

from calib.errors import RankotomError
from rankotom_edge.sources.source_parser import parse_source


@pytest.mark.parametrize(
    ("given", "kind", "target", "name"),
    [
        ("demo", "demo", "demo", "demo: a still portrait"),
        ("0", "camera", "0", "camera 0"),
        (" 2 ", "camera", "2", "camera 2"),
        ("/dev/video7", "camera", "7", "camera 7"),
        ("csi://1", "csi", "1", "CSI camera 1"),
        ("rtsp://host:8554/a?b=1", "stream", "rtsp://host:8554/a?b=1", "rtsp://host:8554/a"),
        ("http://host/cam.mjpg", "stream", "http://host/cam.mjpg", "http://host/cam.mjpg"),
        ("HTTPS://host/cam", "stream", "HTTPS://host/cam", "HTTPS://host/cam"),
        ("udp://@:5000", "stream", "udp://@:5000", "udp://@:5000"),
        ("v4l2src ! jpegdec", "pipeline", "v4l2src ! jpegdec", "pipeline v4l2src"),
        ("a!b!c", "pipeline", "a!b!c", "pipeline a"),
        ("/dev/video12345", "camera", "12345", "camera 12345"),
        ("/shots/*.png", "images", "/shots/*.png", "/shots/*.png"),
    ],
)
def test_a_name_stands_for_a_source(given: str, kind: str, target: str, name: str) -> None:
    found = parse_source(given)
    assert (found.kind, found.target, found.name) == (kind, target, name)


@pytest.mark.parametrize(
    "name",
    ["a ! b.mp4", "100%.avi", "%03d.avi", "x:y.mkv", "[a]*.avi", "-i.avi", " 1.avi ", "café.gif"],
)
def test_an_existing_file_wins_over_every_other_reading_of_its_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    found = parse_source(name)
    assert (found.kind, found.target, found.name) == ("video", str(tmp_path / name), name)


def test_a_url_that_is_a_path_here_is_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "http:" / "host").mkdir(parents=True)
    (tmp_path / "http:" / "host" / "clip.avi").touch()
    monkeypatch.chdir(tmp_path)
    assert parse_source("http://host/clip.avi").kind == "video"
    assert parse_source("http://host/other.avi").kind == "stream"


def test_a_number_and_demo_are_never_files_unless_written_as_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("0", "demo"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert [parse_source(name).kind for name in ("0", "demo")] == ["camera", "demo"]
    assert [parse_source(name).kind for name in ("./0", "./demo")] == ["images", "images"]
    assert parse_source("./demo").name == "demo/"


def test_an_image_and_a_folder_are_images_and_a_gif_is_a_video(tmp_path: Path) -> None:
    for name in ("face.JPG", "face.gif"):
        (tmp_path / name).touch()
    kinds = [parse_source(str(tmp_path / name)).kind for name in ("face.JPG", "face.gif", ".")]
    assert kinds == ["images", "video", "images"]


def test_a_device_that_is_no_camera_is_refused_also_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "usb-index0").symlink_to("/dev/null")
    for name in ("/dev/null", str(tmp_path / "usb-index0")):
        with pytest.raises(RankotomError, match="not a camera"):
            parse_source(name)


def test_a_file_url_is_its_file(tmp_path: Path) -> None:
    clip = tmp_path / "my clip.avi"
    clip.touch()
    assert parse_source(clip.as_uri()).target == str(clip)
    with pytest.raises(RankotomError, match="no such file"):
        parse_source("file:///nowhere/clip.avi")


def test_the_home_folder_may_be_written_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clip.avi").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parse_source("~/clip.avi").target == str(tmp_path / "clip.avi")


@pytest.mark.parametrize("given", ["", "nothing.mp4", "webcam", "a" * 5000, "-1", "null\0byte"])
def test_what_is_no_source_is_refused_with_a_list_of_what_may_be_given(given: str) -> None:
    with pytest.raises(RankotomError) as refused:
        parse_source(given)
    for hint in ("/dev/video0", "csi://0", "GIF", "folder", "rtsp://", "GStreamer", "demo"):
        assert hint in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        "videotestsrc!videoconvert!appsink",
        "v4l2src device=/dev/video0!video/x-raw,width=640!appsink",
        "v4l2src device=/dev/video0 !\n  jpegdec !\n  appsink",
        "v4l2src\n! jpegdec\n! appsink",
    ],
)
def test_a_pipeline_may_do_without_blanks_and_go_over_lines(given: str) -> None:
    found = parse_source(given)
    assert (found.kind, found.target) == ("pipeline", given)
    assert found.name in ("pipeline videotestsrc", "pipeline v4l2src")


@pytest.mark.parametrize("given", ["surprise!.mp4", "hello!you.mp4", "!", "a!", "shots!/1.png"])
def test_a_missing_file_with_an_exclamation_mark_is_no_pipeline(given: str) -> None:
    with pytest.raises(RankotomError, match="no such file"):
        parse_source(given)


def test_a_pattern_that_leaves_letters_out_is_no_pipeline() -> None:
    assert parse_source("shots/[!a]*.png").kind == "images"


def test_a_long_pipeline_is_not_tried_as_a_file_name() -> None:
    assert parse_source("videotestsrc ! " + "identity ! " * 600 + "appsink").kind == "pipeline"


@pytest.mark.parametrize(
    ("given", "words"),
    [("csi://front", "csi://0"), ("ftp://host/a.mp4", "ftp://"), ("csi://", "csi://0")],
)
def test_the_error_for_a_wrong_url_says_what_is_wrong(given: str, words: str) -> None:
    with pytest.raises(RankotomError, match=words):
        parse_source(given)


def test_a_pipe_is_neither_file_nor_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RankotomError, match="neither a file nor a folder"):
        parse_source(str(tmp_path / "pipe"))
