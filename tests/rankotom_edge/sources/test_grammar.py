from __future__ import annotations

import os
from pathlib import Path

import pytest

from calib.errors import RankotomError
from rankotom_edge.sources.grammar import parse, without_password


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
    found = parse(given)
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
    found = parse(name)
    assert (found.kind, found.target, found.name) == ("video", str(tmp_path / name), name)


def test_a_url_that_is_a_path_here_is_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "http:" / "host").mkdir(parents=True)
    (tmp_path / "http:" / "host" / "clip.avi").touch()
    monkeypatch.chdir(tmp_path)
    assert parse("http://host/clip.avi").kind == "video"
    assert parse("http://host/other.avi").kind == "stream"


def test_a_number_and_demo_are_never_files_unless_written_as_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("0", "demo"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    assert [parse(name).kind for name in ("0", "demo")] == ["camera", "demo"]
    assert [parse(name).kind for name in ("./0", "./demo")] == ["images", "images"]
    assert parse("./demo").name == "demo/"


def test_an_image_and_a_folder_are_images_and_a_gif_is_a_video(tmp_path: Path) -> None:
    for name in ("face.JPG", "face.gif"):
        (tmp_path / name).touch()
    kinds = [parse(str(tmp_path / name)).kind for name in ("face.JPG", "face.gif", ".")]
    assert kinds == ["images", "video", "images"]


def test_a_device_that_is_no_camera_is_refused_also_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "usb-index0").symlink_to("/dev/null")
    for name in ("/dev/null", str(tmp_path / "usb-index0")):
        with pytest.raises(RankotomError, match="not a camera"):
            parse(name)


def test_a_file_url_is_its_file(tmp_path: Path) -> None:
    clip = tmp_path / "my clip.avi"
    clip.touch()
    assert parse(clip.as_uri()).target == str(clip)
    with pytest.raises(RankotomError, match="no such file"):
        parse("file:///nowhere/clip.avi")


def test_the_home_folder_may_be_written_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clip.avi").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    assert parse("~/clip.avi").target == str(tmp_path / "clip.avi")


@pytest.mark.parametrize("given", ["", "nothing.mp4", "webcam", "a" * 5000, "-1", "null\0byte"])
def test_what_is_no_source_is_refused_with_all_that_may_be_given(given: str) -> None:
    with pytest.raises(RankotomError) as refused:
        parse(given)
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
    found = parse(given)
    assert (found.kind, found.target) == ("pipeline", given)
    assert found.name in ("pipeline videotestsrc", "pipeline v4l2src")


@pytest.mark.parametrize("given", ["surprise!.mp4", "hello!you.mp4", "!", "a!", "shots!/1.png"])
def test_a_missing_file_with_an_exclamation_mark_is_no_pipeline(given: str) -> None:
    with pytest.raises(RankotomError, match="no such file"):
        parse(given)


def test_a_pattern_that_leaves_letters_out_is_no_pipeline() -> None:
    assert parse("shots/[!a]*.png").kind == "images"


def test_a_long_pipeline_is_not_tried_as_a_file_name() -> None:
    assert parse("videotestsrc ! " + "identity ! " * 600 + "appsink").kind == "pipeline"


@pytest.mark.parametrize(
    ("given", "words"),
    [("csi://front", "csi://0"), ("ftp://host/a.mp4", "ftp://"), ("csi://", "csi://0")],
)
def test_a_wrong_url_is_told_what_is_wrong(given: str, words: str) -> None:
    with pytest.raises(RankotomError, match=words):
        parse(given)


def test_a_pipe_is_neither_file_nor_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RankotomError, match="neither a file nor a folder"):
        parse(str(tmp_path / "pipe"))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("rtsp://admin:s3cret@10.0.0.2/ch1", "rtsp://10.0.0.2/ch1"),
        ("rtsp://admin:p@ss@10.0.0.2/ch1", "rtsp://10.0.0.2/ch1"),
        ("http://host/a@b?to=c@d", "http://host/a@b"),
        ("http://cam/video.cgi?user=admin&pwd=s3cret", "http://cam/video.cgi"),
        (
            "rtsp://h/user=admin&password=s3cret&channel=1.sdp",
            "rtsp://h/user=…&password=…&channel=1.sdp",
        ),
        ("udp://@239.0.0.1:1234", "udp://@239.0.0.1:1234"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown
    assert parse(url).name == shown


@pytest.mark.parametrize(
    "secret", ["s3cret", '"s3 cret"', "'s3 cret'", r'"s3\" cret"', "s3/cr&e;t", "s3@cret"]
)
def test_a_password_in_a_pipeline_is_not_shown_either(secret: str) -> None:
    given = f"rtspsrc location=rtsp://me:s3@cam/1 user-pw={secret} proxy-pw={secret} ! decodebin"
    shown = "rtspsrc location=rtsp://cam/1 user-pw=… proxy-pw=… ! decodebin"
    assert without_password(given) == shown
