from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.frame import Image
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.recording.mjpeg import encode_jpeg, read_mjpeg

Record = Callable[..., Path]


def noise(seed: int) -> Image:
    """Coarse, as JPEG keeps it well; its bytes are as varied as those of a photograph."""
    coarse = np.random.default_rng(seed).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    return np.asarray(cv2.resize(coarse, (64, 64)), dtype=np.uint8)


def test_images_are_read_back_in_order_and_nearly_as_they_were(tmp_path: Path) -> None:
    images = [noise(seed) for seed in range(20)]
    path = tmp_path / "video.mjpeg"
    path.write_bytes(b"".join(encode_jpeg(image) for image in images))
    shown = list(read_mjpeg(path))
    assert len(shown) == len(images)
    for image, again in zip(images, shown, strict=True):
        assert np.abs(image.astype(int) - again).mean() < 5


def test_an_image_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "video.mjpeg"
    path.write_bytes(encode_jpeg(noise(0)) + encode_jpeg(noise(1))[:-1])
    assert len(list(read_mjpeg(path))) == 1


def test_an_empty_video_has_no_images(tmp_path: Path) -> None:
    (tmp_path / "video.mjpeg").touch()
    assert list(read_mjpeg(tmp_path / "video.mjpeg")) == []


def test_a_damaged_or_missing_video_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "video.mjpeg"
    path.write_bytes(b"no image" + b"\xff\xd9")
    with pytest.raises(RankotomError, match=r"video\.mjpeg is damaged"):
        list(read_mjpeg(path))
    with pytest.raises(RankotomError, match=r"Cannot read .*absent: No such file"):
        list(read_mjpeg(tmp_path / "absent"))


def test_other_programs_can_play_the_video(
    record: Record, tmp_path: Path, frames: list[FrameReadings]
) -> None:
    folder = record(tmp_path, frames, video=True)
    video = cv2.VideoCapture(str(folder / "video.mjpeg"), cv2.CAP_FFMPEG)
    assert sum(1 for _ in iter(lambda: video.read()[0], False)) == len(frames)
