from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.sources import open_source, opencv_capture
from rankotom_edge.sources.open_source import csi_pipeline
from rankotom_edge.sources.opencv_capture import has_gstreamer

without_gstreamer = pytest.mark.skipif(has_gstreamer(), reason="this OpenCV has GStreamer")


@pytest.mark.skipif(Path("/dev/video63").exists(), reason="there is a camera 63")
@pytest.mark.parametrize("named", ["63", "/dev/video63"])
def test_an_absent_camera_is_an_error_at_once_and_leaves_nothing(named: str) -> None:
    before = threading.active_count()
    with pytest.raises(RankotomError, match=r"Camera 63 is absent.*\n.*--source demo"):
        open_source(named)
    assert threading.active_count() == before


@pytest.mark.parametrize("number", ["12345", "99999999999"])
def test_a_number_that_no_camera_has_is_an_absent_camera_and_no_file(number: str) -> None:
    with pytest.raises(RankotomError, match=rf"Camera {number} is absent.*\nCameras found: "):
        open_source(number)


@without_gstreamer
@pytest.mark.parametrize("named", ["csi://0", "videotestsrc ! videoconvert ! appsink"])
def test_without_gstreamer_a_pipeline_is_refused_by_name(named: str) -> None:
    with pytest.raises(RankotomError, match="needs GStreamer, which the OpenCV here is built with"):
        open_source(named)


def test_a_csi_camera_is_a_pipeline_that_keeps_the_newest_frame_only() -> None:
    pipeline = csi_pipeline(1)
    assert pipeline.startswith("nvarguscamerasrc sensor-id=1 ! ")
    assert pipeline.endswith("appsink drop=true max-buffers=1 sync=false")
    assert "format=BGR " in pipeline


def test_a_stream_that_nobody_sends_is_an_error_that_hides_the_password() -> None:
    before = threading.active_count()
    with pytest.raises(RankotomError, match="No image came from http://127") as refused:
        open_source("http://admin:s3cret@127.0.0.1:9/cam.mjpg")
    assert "s3cret" not in str(refused.value)
    assert threading.active_count() == before


def test_a_stream_that_nobody_sends_is_waited_for_and_no_more_is_said_than_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opencv_capture, "KEY_FRAME_SECONDS", 0.5)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"udp://127.0.0.1:{taken.getsockname()[1]}"
    began = time.monotonic()
    with pytest.raises(RankotomError, match=r"nothing is sent there, or nothing .* within 0\.5 s"):
        open_source(url)
    assert 0.5 <= time.monotonic() - began < 5


@pytest.mark.parametrize(
    "opening",
    [
        "open_source('demo')",
        "ReconnectingSource('camera 0', lambda: open_video(sys.argv[1]), RankotomError)",
    ],
    ids=["playback", "reconnecting"],
)
def test_a_source_that_nobody_closed_does_not_keep_the_program_alive(
    opening: str, tmp_path: Path
) -> None:
    clip = tmp_path / "clip.avi"
    writer = cv2.VideoWriter(str(clip), cv2.VideoWriter.fourcc(*"MJPG"), 20, (64, 48))
    writer.write(np.zeros((48, 64, 3), dtype=np.uint8))
    writer.release()
    program = f"""
import sys
from calib.errors import RankotomError
from rankotom_edge.sources import open_source
from rankotom_edge.sources.opencv_capture import open_video
from rankotom_edge.sources.reconnecting_source import ReconnectingSource
source = {opening}
"""
    done = subprocess.run([sys.executable, "-c", program, str(clip)], timeout=60, check=False)
    assert done.returncode == 0
