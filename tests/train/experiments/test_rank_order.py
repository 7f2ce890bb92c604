"""A face above the blends that it is half of: what is counted, and of which pairs."""

import numpy as np

from rankotom_edge.model.artifact import load_artifact
from train.experiments.rank_order import blends_of, held_out_pairs, rank_order, rank_order_of

FACES = np.random.default_rng(0).integers(0, 256, (300, 1, 48, 48), dtype=np.uint8)


def test_rank_order_is_the_share_of_originals_above_their_blend() -> None:
    blends, upper, lower = np.array([0.5, 0.5]), np.array([0.6, 0.4]), np.array([0.9, 0.7])
    assert rank_order(blends, upper, lower) == 0.75


def test_a_blend_that_is_as_sure_as_its_original_is_not_below_it() -> None:
    assert rank_order(np.array([0.5]), np.array([0.5]), np.array([0.5])) == 0


def test_every_face_is_once_above_and_once_below_and_never_with_itself() -> None:
    upper, lower = held_out_pairs(50)
    assert sorted(upper) == sorted(lower) == list(range(50))
    assert (upper != lower).all()


def test_a_blend_has_the_upper_half_of_the_one_and_the_lower_of_the_other() -> None:
    upper, lower = held_out_pairs(len(FACES))
    blended = blends_of(FACES)
    assert (blended[7, :, :24] == FACES[upper[7], :, :24]).all()
    assert (blended[7, :, 24:] == FACES[lower[7], :, 24:]).all()


def test_the_embedded_model_can_be_asked() -> None:
    artifact = load_artifact("ferplus-fp32")
    assert 0 < rank_order_of(artifact, FACES) < 1
    # A face with itself is no blend: the model is as sure of it, and surer of none.
    assert rank_order_of(artifact, np.repeat(FACES[:1], 4, axis=0)) == 0
