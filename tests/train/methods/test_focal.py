"""Focal loss against numbers worked out by hand."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from train.batches import Batch, TrainingFaces
from train.methods.cross_entropy import cross_entropy
from train.methods.focal import Focal, focal
from train.ranks import Ranks
from train.recipe import Recipe


def logits_of(*probabilities: float) -> Tensor:
    return torch.tensor([probabilities], dtype=torch.float64).log()


def test_focal_loss_of_the_papers_gamma_and_alpha() -> None:
    loss = focal(logits_of(0.7, 0.2, 0.1), torch.tensor([[1.0, 0.0, 0.0]]), gamma=2.0, alpha=0.25)
    # 0.25 x 0.3^2 x 0.35667494
    assert loss.tolist() == pytest.approx([0.00802519])


def test_focal_loss_of_a_blends_label_weighs_each_half_by_its_own_difficulty() -> None:
    loss = focal(logits_of(0.7, 0.2, 0.1), torch.tensor([[0.5, 0.5, 0.0]]), gamma=2.0, alpha=0.25)
    # 0.25 x (0.5 x 0.3^2 x 0.35667494 + 0.5 x 0.8^2 x 1.60943791)
    assert loss.tolist() == pytest.approx([0.13276763])


def test_focal_loss_of_one_hot_labels_is_that_of_lin_et_al() -> None:
    logits = torch.randn(50, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = torch.arange(50) % 8
    p_t = logits.softmax(dim=1)[torch.arange(50), labels]
    published = -0.25 * (1 - p_t) ** 2 * p_t.log()
    ours = focal(logits, functional.one_hot(labels, 8), gamma=2.0, alpha=0.25)
    torch.testing.assert_close(ours, published)


def test_without_focusing_focal_loss_is_cross_entropy() -> None:
    logits = torch.randn(50, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    targets = logits.flip(1).softmax(dim=1)
    torch.testing.assert_close(
        focal(logits, targets, gamma=0.0, alpha=1.0), functional.cross_entropy(
            logits, targets, reduction="none"
        )
    )  # fmt: skip


def test_losses_stay_finite_where_a_probability_underflows() -> None:
    logits = torch.tensor([[200.0, -200.0]], requires_grad=True)
    target = torch.tensor([[0.0, 1.0]])
    loss = focal(logits, target, gamma=2.0, alpha=0.25) + cross_entropy(logits, target)
    loss.sum().backward()
    assert loss.item() == pytest.approx(500.0)
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_the_method_has_the_recipes_gamma_and_alpha(
    hand_network: Callable[..., nn.Module],
    hand_recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    hand_batch: Callable[..., Batch],
    alone: Ranks,
) -> None:
    """A white face has the logits (0, ln 3), so its second class has p = 0.75."""
    network = hand_network([0.0, 1.098612], [0.0, 0.0])
    result = Focal(hand_recipe, hand_faces([0, 1]), network, alone).step(
        hand_batch([(255, 255)], [1])
    )
    assert result.loss.item() == pytest.approx(0.25 * 0.25**2 * 0.287682, abs=1e-7)
