"""Which pairs are compared, and which count as ordered."""

from pathlib import Path

import numpy as np

from rankotom_edge.model.artifact import load_artifact
from train.data.datasets import FaceSet
from train.experiments.rank_order import (
    are_clear,
    blend_pairs,
    compare_with_blends,
    draw_pairs,
    is_above,
)

FACES = np.random.default_rng(0).integers(0, 256, (300, 1, 48, 48), dtype=np.uint8)


def test_rank_order_is_the_share_of_originals_above_their_blend() -> None:
    blends, upper, lower = np.array([0.5, 0.5]), np.array([0.6, 0.4]), np.array([0.9, 0.7])
    assert is_above(blends, upper, lower).mean() == 0.75


def test_a_blend_as_confident_as_its_original_does_not_count() -> None:
    assert not is_above(np.array([0.5]), np.array([0.5]), np.array([0.5])).any()


def test_every_face_is_once_the_upper_and_once_the_lower_half_and_never_both() -> None:
    upper, lower = draw_pairs(50)
    assert sorted(upper) == sorted(lower) == list(range(50))
    assert (upper != lower).all()


def test_a_blend_has_the_upper_half_of_the_one_and_the_lower_of_the_other() -> None:
    upper, lower = draw_pairs(len(FACES))
    blended = blend_pairs(FACES)
    assert (blended[7, :, :24] == FACES[upper[7], :, :24]).all()
    assert (blended[7, :, 24:] == FACES[lower[7], :, 24:]).all()


def test_the_embedded_model_can_be_measured() -> None:
    artifact = load_artifact("ferplus-fp32")
    assert 0 < compare_with_blends(artifact, FACES).mean() < 1
    # Blended with itself a face stays the same, and has no higher confidence than its blend.
    assert not compare_with_blends(artifact, np.repeat(FACES[:1], 4, axis=0)).any()


def test_a_clear_pair_has_different_labels_and_agreed_votes() -> None:
    votes = np.array([[10, 0], [0, 10], [6, 4], [0, 10], [10, 0], [7, 3]], np.float64)
    faces = FaceSet(
        name="made", classes=("happiness", "sadness"), files=(Path("x"),) * 6,
        labels=votes.argmax(axis=1), votes=votes,
    )  # fmt: skip
    upper, lower = draw_pairs(6)
    expected = [
        {first, second} & {2} == set() and votes[first].argmax() != votes[second].argmax()
        for first, second in zip(upper, lower, strict=True)
    ]
    assert are_clear(faces).tolist() == expected
    assert 0 < sum(expected) < 6
