"""Cross-entropy against numbers worked out by hand."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from train.batches import Batch, TrainingFaces
from train.methods.cross_entropy import CrossEntropy, cross_entropy
from train.ranks import Ranks
from train.recipe import Recipe


def logits_of(*probabilities: float) -> Tensor:
    return torch.tensor([probabilities], dtype=torch.float64).log()


def test_cross_entropy_of_a_certain_label_is_its_negative_log() -> None:
    loss = cross_entropy(logits_of(0.7, 0.2, 0.1), torch.tensor([[1.0, 0.0, 0.0]]))
    assert loss.tolist() == pytest.approx([0.35667494])


def test_cross_entropy_weighs_each_part_of_a_mixed_label() -> None:
    loss = cross_entropy(logits_of(0.7, 0.2, 0.1), torch.tensor([[0.5, 0.3, 0.2]]))
    # 0.5 x 0.35667494 + 0.3 x 1.60943791 + 0.2 x 2.30258509
    assert loss.tolist() == pytest.approx([1.12168586])


def test_the_loss_is_the_mean_over_the_faces_with_oversampling_taken_out(
    hand_network: Callable[..., nn.Module],
    hand_recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    hand_batch: Callable[..., Batch],
    alone: Ranks,
) -> None:
    """The logits of a white face are (0, ln 3), so p = (0.25, 0.75); those of a black one are
    (0, -ln 3), and p = (0.75, 0.25). With odds three times as high for class two p is (0.1, 0.9)
    and (0.5, 0.5).
    """
    network = hand_network([0.0, 1.098612], [0.0, 0.0])
    method = CrossEntropy(hand_recipe, hand_faces([0, 1]), network, alone)
    batch = hand_batch([(255, 255), (0, 0)], [1, 0])
    assert method.step(batch).loss.item() == pytest.approx(0.287682, abs=1e-5)
    result = method.step(replace(batch, tilt=torch.tensor([0.0, 1.098612])))
    assert result.loss.item() == pytest.approx((0.105361 + 0.693147) / 2, abs=1e-5)
    assert result.probabilities.tolist() == [
        pytest.approx([0.25, 0.75]),
        pytest.approx([0.75, 0.25]),
    ]
