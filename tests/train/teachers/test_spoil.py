"""Spoiled faces: by the seed alone, as many as asked for, and never of another shape."""

import numpy as np
import pytest

from train.teachers.spoil import WAYS, Spoil, spoil_faces

FACES = np.random.default_rng(0).integers(40, 200, (64, 1, 48, 48), np.uint8)
PLACES = np.arange(64)


@pytest.mark.parametrize("way", [way for way, _ in WAYS], ids=lambda way: way.__name__)
def test_each_way_changes_a_face_and_keeps_its_shape(way: Spoil) -> None:
    spoiled = way(FACES[0, 0], np.random.default_rng(1))
    assert spoiled.shape == (48, 48)
    assert spoiled.dtype == np.uint8
    assert (spoiled != FACES[0, 0]).any()


def test_about_the_share_asked_for_is_spoiled() -> None:
    changed = (spoil_faces(FACES, 0.5, 7, PLACES) != FACES).any(axis=(1, 2, 3))
    assert 20 <= changed.sum() <= 44
    assert np.array_equal(spoil_faces(FACES, 0.0, 7, PLACES), FACES)


def test_the_same_seed_spoils_alike_and_another_does_not() -> None:
    once, again, other = (spoil_faces(FACES, 1.0, seed, PLACES) for seed in (7, 7, 8))
    assert np.array_equal(once, again)
    assert not np.array_equal(once, other)


def test_parts_of_a_batch_are_spoiled_as_the_whole_is() -> None:
    whole = spoil_faces(FACES, 0.5, 7, PLACES)
    part = spoil_faces(FACES[40:], 0.5, 7, PLACES[40:])
    assert np.array_equal(part, whole[40:])
