"""Each damage does what its name says; random ones depend on the seed alone."""

import numpy as np
import pytest

from rankotom_edge.frame import Image
from train.data.damage import (
    RANDOM_DAMAGES,
    add_noise,
    blur,
    compress,
    cover_with,
    damage_faces,
    darken,
    motion_blur,
    overexpose,
    reduce_contrast,
    reduce_resolution,
    shrink,
)
from train.data.face_covers import COVERS

GREYS = np.repeat(np.array([[[0], [100]], [[200], [255]]], np.uint8), 3, axis=2)
FACES = np.random.default_rng(0).integers(40, 200, (64, 1, 48, 48), np.uint8)
PLACES = np.arange(64)


def grey(picture: Image) -> list[list[int]]:
    return [[int(value) for value in row] for row in picture[..., 0]]


def test_each_damage_does_what_its_name_says() -> None:
    assert grey(darken(4)(GREYS)) == [[0, 25], [50, 63]]
    assert grey(overexpose(2)(GREYS)) == [[0, 200], [255, 255]]
    assert grey(reduce_contrast(0.5)(GREYS)) == [[69, 119], [169, 196]]  # around their mean, 138.75
    assert shrink(16)(np.zeros((48, 48, 3), np.uint8)).shape == (16, 16, 3)
    edge = np.repeat(np.array([0] * 8 + [255] * 8, np.uint8)[None, :, None], 3, axis=2)
    assert 0 < blur(1)(edge)[0, 7, 0] < 128 < blur(1)(edge)[0, 8, 0] < 255


def test_a_motion_blurs_one_direction() -> None:
    stripes = np.repeat(
        np.tile(np.array([0, 0, 255, 255], np.uint8), (16, 4))[..., None], 3, axis=2
    )
    assert np.array_equal(motion_blur(5, 90)(stripes), stripes)
    assert np.ptp(motion_blur(5, 0)(stripes)[:, 4:-4]) < 100


def test_noise_is_the_same_in_each_channel() -> None:
    grain = add_noise(4)(np.full((48, 48, 3), 100, np.uint8))
    assert 3 < grain.std() < 5
    assert (grain == grain[..., :1]).all()
    assert np.array_equal(add_noise(4)(np.full((48, 48), 100, np.uint8)), grain[..., 0])


def test_a_lower_resolution_and_more_compression_keep_less_detail() -> None:
    def detail(face: Image) -> float:
        return float(np.abs(np.diff(face.astype(int))).mean())

    face = FACES[0, 0]
    assert detail(face) > detail(reduce_resolution(24)(face)) > detail(reduce_resolution(12)(face))
    errors = [np.abs(compress(each)(face).astype(int) - face).mean() for each in (90, 30, 5)]
    assert errors == sorted(errors)


@pytest.mark.parametrize("channels", [None, 3])
def test_a_cover_changes_a_part_of_the_face(channels: int | None) -> None:
    face = np.full((48, 48) if channels is None else (48, 48, channels), 120, np.uint8)
    covered = cover_with(COVERS["mask"])(face)
    assert covered.shape == face.shape
    assert 0.1 < (covered != face).mean() < 0.8


@pytest.mark.parametrize("name", RANDOM_DAMAGES)
def test_each_random_damage_changes_a_face_and_keeps_its_shape(name: str) -> None:
    _, draw = RANDOM_DAMAGES[name]
    damaged = draw(np.random.default_rng(1))(FACES[0, 0])
    assert damaged.shape == (48, 48)
    assert damaged.dtype == np.uint8
    assert (damaged != FACES[0, 0]).any()


def test_about_the_given_share_is_damaged() -> None:
    changed = (damage_faces(FACES, 0.5, 7, PLACES) != FACES).any(axis=(1, 2, 3))
    assert 20 <= changed.sum() <= 44
    assert np.array_equal(damage_faces(FACES, 0.0, 7, PLACES), FACES)


def test_the_same_seed_gives_the_same_damage_and_another_does_not() -> None:
    once, again, other = (damage_faces(FACES, 1.0, seed, PLACES) for seed in (7, 7, 8))
    assert np.array_equal(once, again)
    assert not np.array_equal(once, other)


def test_parts_of_a_batch_are_damaged_like_the_whole() -> None:
    whole = damage_faces(FACES, 0.5, 7, PLACES)
    part = damage_faces(FACES[40:], 0.5, 7, PLACES[40:])
    assert np.array_equal(part, whole[40:])
