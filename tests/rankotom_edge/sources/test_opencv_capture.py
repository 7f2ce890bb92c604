from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rankotom_edge.sources.opencv_capture import open_timeout, plausible_fps, to_bgr


@pytest.mark.parametrize("reported", [0.0, -1.0, float("nan"), float("inf"), 1000.0, 90000.0])
def test_a_rate_that_no_camera_has_counts_as_unsaid(reported: float) -> None:
    assert plausible_fps(reported) is None


@pytest.mark.parametrize("reported", [0.2, 12.5, 29.97, 120.0])
def test_a_rate_that_may_be_is_believed(reported: float) -> None:
    assert plausible_fps(reported) == reported


@pytest.mark.parametrize("url", ["udp://@:5000", "rtsp://host/a", "RTSPS://host/a"])
def test_a_stream_is_given_the_ten_seconds_between_two_whole_pictures(url: str) -> None:
    assert open_timeout(url) > 12
    assert open_timeout("http://host/cam.mjpg") < 10


@pytest.mark.parametrize("shape", [(4, 6), (4, 6, 1), (4, 6, 3), (4, 6, 4)])
def test_every_picture_comes_in_colour(shape: tuple[int, ...]) -> None:
    picture = to_bgr(np.full(shape, 77, dtype=np.uint8))
    assert picture.shape == (4, 6, 3)
    assert (picture == 77).all()


def test_nothing_is_written_to_the_terminal_when_sources_fail(tmp_path: Path) -> None:
    """In a fresh interpreter, for OpenCV reads its settings once. Each is bad in its own way."""
    (tmp_path / "noise.mp4").write_bytes(os.urandom(20_000))
    (tmp_path / "shots").mkdir()
    (tmp_path / "shots" / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + os.urandom(500))
    program = """
import sys
from calib.errors import RankotomError
from rankotom_edge.sources import list_cameras, open_source
list_cameras()
for named in sys.argv[1:]:
    try:
        open_source(named).close()
    except RankotomError:
        print("refused", end=" ")
"""
    bad = [tmp_path / "noise.mp4", tmp_path / "shots", "63", "http://127.0.0.1:9/cam.mjpg"]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("OPENCV_")
    }
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, bad)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    assert (done.stdout.split(), done.stderr) == (["refused"] * len(bad), "")
