"""Which pairs are compared, and which count as ordered."""

import numpy as np

from rankotom_edge.model.artifact import load_artifact
from train.experiments.rank_order import blend_pairs, draw_pairs, measure_rank_order, rank_order

FACES = np.random.default_rng(0).integers(0, 256, (300, 1, 48, 48), dtype=np.uint8)


def test_rank_order_is_the_share_of_originals_above_their_blend() -> None:
    blends, upper, lower = np.array([0.5, 0.5]), np.array([0.6, 0.4]), np.array([0.9, 0.7])
    assert rank_order(blends, upper, lower) == 0.75


def test_a_blend_as_confident_as_its_original_does_not_count() -> None:
    assert rank_order(np.array([0.5]), np.array([0.5]), np.array([0.5])) == 0


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
    assert 0 < measure_rank_order(artifact, FACES) < 1
    # Blended with itself a face stays the same, and has no higher confidence than its blend.
    assert measure_rank_order(artifact, np.repeat(FACES[:1], 4, axis=0)) == 0
