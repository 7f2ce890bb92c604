from __future__ import annotations

import numpy as np
import pytest

from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.sources import open_source
from rankotom_edge.sources.demo import CENTRE, FPS, demo_picture, load_portrait


def test_the_demo_says_that_it_is_a_still_and_never_ends() -> None:
    with open_source("demo") as source:
        assert (source.name, source.still, source.live) == ("demo: a still portrait", True, False)
        assert source.fps == FPS
        frames = [source.read(timeout=10) for _ in range(100)]
        assert source.state.kind == "playing"
    assert all(frame is not None and frame.image.shape == (480, 640, 3) for frame in frames)
    assert [frame and frame.time for frame in frames] == pytest.approx(
        [index / 30 for index in range(100)]
    )


def test_a_picture_depends_on_the_time_alone() -> None:
    portrait = load_portrait()
    untouched = portrait.copy()
    np.testing.assert_array_equal(demo_picture(portrait, 12.3), demo_picture(portrait, 12.3))
    np.testing.assert_array_equal(portrait, untouched)
    assert demo_picture(portrait, 12.3, (320, 240)).shape == (240, 320, 3)


def test_the_view_never_leaves_the_portrait_and_never_stands_still() -> None:
    """A portrait that is white at its border only: none of it may be seen."""
    framed = np.full((512, 512, 3), 255, dtype=np.uint8)
    framed[2:-2, 2:-2] = 0
    assert all(demo_picture(framed, time).max() == 0 for time in np.arange(0, 60, 0.3))
    portrait = load_portrait()
    for time in np.arange(0, 8, 0.8):
        moved = np.abs(
            demo_picture(portrait, time).astype(int) - demo_picture(portrait, time + 0.1)
        )
        assert moved.mean() > 0.5


def test_it_moves_smoothly() -> None:
    """The portrait's centre, followed as a white spot, moves a few pixels a frame at most."""
    spotted = np.zeros((512, 512, 3), dtype=np.uint8)
    x, y = (round(value) for value in CENTRE)
    spotted[y - 4 : y + 5, x - 4 : x + 5] = 255
    spots = []
    for index in range(150):
        rows, columns = np.nonzero(demo_picture(spotted, index / FPS)[..., 0] > 128)
        spots.append((columns.mean(), rows.mean()))
    strides = np.hypot(*np.diff(spots, axis=0).T)
    assert 0.3 < strides.mean() < 2
    assert strides.max() < 4


def test_the_real_detector_finds_one_face_in_nearly_every_frame() -> None:
    portrait = load_portrait()
    with FaceDetector() as detector:
        found = [
            len(detector.detect(demo_picture(portrait, time))) for time in np.arange(0, 20, 0.2)
        ]
    assert np.mean(np.array(found) == 1) >= 0.98
