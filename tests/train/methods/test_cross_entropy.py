"""Cross-entropy against numbers worked out by hand."""

import pytest
import torch
from torch import Tensor

from train.methods.cross_entropy import cross_entropy


def logits_of(*probabilities: float) -> Tensor:
    return torch.tensor([probabilities], dtype=torch.float64).log()


def test_cross_entropy_of_a_certain_label_is_its_negative_log() -> None:
    loss = cross_entropy(logits_of(0.7, 0.2, 0.1), torch.tensor([[1.0, 0.0, 0.0]]))
    assert loss.tolist() == pytest.approx([0.35667494])


def test_cross_entropy_weighs_each_part_of_a_mixed_label() -> None:
    loss = cross_entropy(logits_of(0.7, 0.2, 0.1), torch.tensor([[0.5, 0.3, 0.2]]))
    # 0.5 x 0.35667494 + 0.3 x 1.60943791 + 0.2 x 2.30258509
    assert loss.tolist() == pytest.approx([1.12168586])
