from __future__ import annotations

import errno
import sys
from pathlib import Path

import pytest

from rankotom_edge.sources.cameras import (
    Camera,
    camera_error,
    can_capture,
    list_cameras,
    open_errno,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the cameras of Linux")


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    """A laptop's camera and a webcam, each with a node for metadata, and one not plugged in."""
    nodes = [
        ("video0", "Integrated Camera: Integrated C", "0"),
        ("video1", "Integrated Camera: Integrated C", "1"),
        ("video10", "HD Pro Webcam C920", "0"),
        ("video11", "HD Pro Webcam C920", "1"),
        ("v4l-subdev0", "a sensor", "0"),
    ]
    (tmp_path / "dev").mkdir()
    for node, name, index in nodes:
        folder = tmp_path / "sys" / node
        folder.mkdir(parents=True)
        (folder / "name").write_text(f"{name}\n")
        (folder / "index").write_text(f"{index}\n")
        (tmp_path / "dev" / node).touch()
    (tmp_path / "sys" / "video20").mkdir()
    return tmp_path / "sys"


def test_the_cameras_are_listed_by_number_without_their_metadata_nodes(sysfs: Path) -> None:
    dev = sysfs.parent / "dev"
    assert list_cameras(sysfs, dev) == (
        Camera(0, str(dev / "video0"), "Integrated Camera: Integrated C"),
        Camera(10, str(dev / "video10"), "HD Pro Webcam C920"),
    )


def test_a_device_that_says_what_it_can_do_is_believed(sysfs: Path) -> None:
    """A depth camera's second picture has index 1, and a codec's only node index 0."""
    listed = list_cameras(
        sysfs, sysfs.parent / "dev", can_capture=lambda node: node.name in ("video1", "video10")
    )
    assert [camera.index for camera in listed] == [1, 10]


def test_a_machine_without_cameras_has_none(tmp_path: Path) -> None:
    assert list_cameras(tmp_path / "nothing", tmp_path) == ()


def test_a_node_that_cannot_be_asked_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "video0").touch()
    assert can_capture(tmp_path / "video0") is None
    assert can_capture(tmp_path / "video1") is None


def test_the_system_says_why_it_refuses_a_camera(tmp_path: Path) -> None:
    (tmp_path / "video0").touch()
    assert open_errno(tmp_path / "video0") is None
    assert open_errno(tmp_path / "video1") == errno.ENOENT
    assert open_errno(tmp_path) == errno.EISDIR


@pytest.mark.parametrize(
    ("refused", "words"),
    [
        (errno.ENOENT, "Camera 3 is absent: there is no /dev/video3"),
        (errno.ENODEV, "Camera 3 is absent"),
        (errno.EACCES, "Camera 3 is forbidden: you may not open /dev/video3. Join the group video"),
        (errno.EPERM, "Camera 3 is forbidden"),
        (errno.EBUSY, "Camera 3 is busy: another program uses /dev/video3"),
        (errno.EIO, "Camera 3 does not open: /dev/video3: Input/output error"),
        (None, "Camera 3 opens but gives no image"),
    ],
)
def test_the_error_says_which_it_is_lists_the_cameras_and_proposes_the_demo(
    refused: int | None, words: str
) -> None:
    found = [Camera(0, "/dev/video0", "Integrated Camera"), Camera(2, "/dev/video2", "C920")]
    text = str(camera_error(3, refused, found, "/dev/video3"))
    assert text.startswith(words)
    assert "0 (Integrated Camera, /dev/video0), 2 (C920, /dev/video2)" in text
    assert text.endswith("--source demo")
    assert len(text.splitlines()) == 2


def test_where_no_camera_was_found_the_error_says_so() -> None:
    assert "Cameras found: none." in str(camera_error(0, errno.ENOENT, [], "/dev/video0"))


def test_where_the_system_does_not_say_why_all_reasons_are_named() -> None:
    text = str(camera_error(1, None, [Camera(0, None, "camera")], None))
    for reason in ("absent", "in use", "forbidden", "0 (camera)"):
        assert reason in text
