"""Crops of a data set: made once, and never served for other pictures."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.faces.crop import FERPLUS_FRAMING
from train.data.crops import load_crops
from train.data.datasets import FaceSet


@pytest.fixture
def faces(tmp_path: Path) -> FaceSet:
    files = tuple(tmp_path / f"face{number}.png" for number in range(3))
    rng = np.random.default_rng(0)
    for file in files:
        cv2.imwrite(str(file), rng.integers(0, 256, (48, 48), dtype=np.uint8))
    return FaceSet("made/train", files, ("calm",))


def test_a_cropped_set_keeps_its_pixels_and_its_order(faces: FaceSet, tmp_path: Path) -> None:
    pixels = load_crops(faces, 48, 1, None, tmp_path / "cache")
    assert pixels.shape == (3, 1, 48, 48)
    assert pixels.dtype == np.uint8
    for file, stored in zip(faces.files, pixels, strict=True):
        assert (stored[0] == cv2.imread(str(file), cv2.IMREAD_GRAYSCALE)).all()


def test_another_size_and_three_channels_are_made_from_the_same_pictures(
    faces: FaceSet, tmp_path: Path
) -> None:
    assert load_crops(faces, 24, 3, None, tmp_path / "cache").shape == (3, 3, 24, 24)
    assert load_crops(faces, 96, 1, None, tmp_path / "cache").shape == (3, 1, 96, 96)


def test_pictures_are_decoded_once(faces: FaceSet, tmp_path: Path) -> None:
    first = np.array(load_crops(faces, 48, 1, None, tmp_path / "cache"))
    (stored,) = (tmp_path / "cache").iterdir()
    written = stored.stat().st_mtime_ns
    assert (load_crops(faces, 48, 1, None, tmp_path / "cache") == first).all()
    assert stored.stat().st_mtime_ns == written


def test_other_pictures_of_the_same_names_and_sizes_are_other_faces(
    faces: FaceSet, tmp_path: Path
) -> None:
    first = np.array(load_crops(faces, 48, 1, None, tmp_path / "cache"))
    before = faces.files[0].stat()
    other = np.random.default_rng(1).integers(0, 256, (48, 48), dtype=np.uint8)
    cv2.imwrite(str(faces.files[0]), other)
    os.utime(faces.files[0], ns=(before.st_atime_ns, before.st_mtime_ns))
    assert faces.files[0].stat().st_size == before.st_size
    again = load_crops(faces, 48, 1, None, tmp_path / "cache")
    assert (again[0] == other).all()
    assert (again[1:] == first[1:]).all()


def test_a_truncated_cache_is_made_again(faces: FaceSet, tmp_path: Path) -> None:
    first = np.array(load_crops(faces, 48, 1, None, tmp_path / "cache"))
    (stored,) = (tmp_path / "cache").iterdir()
    for left in (0, 40, 3000):
        stored.write_bytes(stored.read_bytes()[:left])
        assert (load_crops(faces, 48, 1, None, tmp_path / "cache") == first).all()


def test_other_faces_are_never_served_from_the_same_cache(faces: FaceSet, tmp_path: Path) -> None:
    whole = load_crops(faces, 48, 1, None, tmp_path / "cache")
    swapped = load_crops(faces.subset(np.array([2, 1, 0])), 48, 1, None, tmp_path / "cache")
    assert (swapped == whole[::-1]).all()


def test_a_corrupt_picture_is_named_and_leaves_no_cache(faces: FaceSet, tmp_path: Path) -> None:
    faces.files[1].write_bytes(b"not a picture")
    with pytest.raises(RankotomError, match=r"face1\.png"):
        load_crops(faces, 48, 1, None, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_photograph_without_a_face_is_named(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "wall.png"), np.full((200, 200, 3), 120, np.uint8))
    walls = FaceSet("walls/train", (tmp_path / "wall.png",), ())
    with pytest.raises(RankotomError, match=r"wall\.png"):
        load_crops(walls, 48, 1, FERPLUS_FRAMING, tmp_path / "cache")


def test_a_full_disk_is_an_error_and_leaves_no_cache(faces: FaceSet, tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(RankotomError, match="Could not write"):
            load_crops(faces, 48, 1, None, tmp_path / "cache")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_cache_that_cannot_be_a_folder_is_named(faces: FaceSet) -> None:
    with pytest.raises(RankotomError, match=r"Could not write .*face0\.png"):
        load_crops(faces, 48, 1, None, faces.files[0])
