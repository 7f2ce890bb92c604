"""The equations against numbers worked out by hand."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from train.losses import (
    cross_entropy,
    focal,
    ranking,
    ranking_by_class,
    ranking_by_logit,
    ranking_by_targets,
)


def logits_of(*probabilities: float) -> Tensor:
    return torch.tensor([probabilities], dtype=torch.float64).log()


def test_cross_entropy_of_a_certain_label_is_its_negative_log() -> None:
    loss = cross_entropy(logits_of(0.7, 0.2, 0.1), torch.tensor([[1.0, 0.0, 0.0]]))
    assert loss.tolist() == pytest.approx([0.35667494])


def test_cross_entropy_weighs_each_part_of_a_mixed_label() -> None:
    loss = cross_entropy(logits_of(0.7, 0.2, 0.1), torch.tensor([[0.5, 0.3, 0.2]]))
    # 0.5 x 0.35667494 + 0.3 x 1.60943791 + 0.2 x 2.30258509
    assert loss.tolist() == pytest.approx([1.12168586])


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


@pytest.mark.parametrize(
    ("blend", "upper", "lower", "expected"),
    [
        (0.6, 0.9, 0.5, 0.3),  # max(0, -0.1) + max(0, 0.3)
        (0.5, 0.6, 0.4, 0.4),  # 0.1 + 0.3
        (0.5, 0.7, 0.7, 0.0),  # just the margin below both
        (0.3, 0.9, 0.9, 0.0),
        (0.9, 0.3, 0.4, 1.5),  # 0.8 + 0.7
    ],
)
def test_ranking_loss_is_the_sum_of_both_hinges(
    blend: float, upper: float, lower: float, expected: float
) -> None:
    loss = ranking(torch.tensor([blend]), torch.tensor([upper]), torch.tensor([lower]), margin=0.2)
    assert loss.tolist() == pytest.approx([expected], abs=1e-6)


def test_a_wider_margin_asks_for_more_distance() -> None:
    confidences = torch.tensor([0.5]), torch.tensor([0.65]), torch.tensor([0.75])
    narrow, wide = (ranking(*confidences, margin=margin).item() for margin in (0.1, 0.3))
    assert narrow == pytest.approx(0.0)
    assert wide == pytest.approx(0.15 + 0.05)


def test_ranking_loss_pulls_the_blend_down_and_only_the_faces_too_near_up() -> None:
    blend, upper, lower = (torch.tensor([value], requires_grad=True) for value in (0.6, 0.9, 0.5))
    ranking(blend, upper, lower, margin=0.2).sum().backward()
    assert [tensor.grad.item() for tensor in (blend, upper, lower) if tensor.grad is not None] == [
        1.0,
        0.0,
        -1.0,
    ]


def test_ranking_by_targets_is_zero_where_the_confidences_are_the_targets_peaks() -> None:
    blend, face = torch.tensor([0.5, 0.45, 0.6]), torch.tensor([1.0, 0.8, 0.7])
    assert ranking_by_targets(blend, face, blend, face).tolist() == [0.0, 0.0, 0.0]


def test_ranking_by_targets_asks_for_half_the_gap_between_the_peaks() -> None:
    loss = ranking_by_targets(*(torch.tensor([value]) for value in (0.7, 0.8, 0.5, 1.0)))
    assert loss.tolist() == pytest.approx([0.15])  # 0.7 - 0.8 + 0.5 / 2


def test_ranking_by_targets_leaves_out_pairs_with_the_same_label_or_split_votes() -> None:
    blend, face = torch.tensor([0.9, 0.9]), torch.tensor([0.3, 0.3])
    loss = ranking_by_targets(blend, face, torch.tensor([1.0, 0.5]), torch.tensor([1.0, 0.54]))
    assert loss.tolist() == [0.0, 0.0]


def test_ranking_by_targets_trains_the_blend_and_not_the_face() -> None:
    blend, face = (torch.tensor([value], requires_grad=True) for value in (0.9, 0.6))
    ranking_by_targets(blend, face, torch.tensor([0.5]), torch.tensor([1.0])).sum().backward()
    assert blend.grad is not None
    assert blend.grad.tolist() == [1.0]
    assert face.grad is None


def test_losses_are_one_value_a_face() -> None:
    logits, targets = torch.zeros(3, 4), torch.full((3, 4), 0.25)
    assert cross_entropy(logits, targets).tolist() == pytest.approx([math.log(4)] * 3)
    assert focal(logits, targets, gamma=2.0, alpha=0.25).shape == (3,)
    assert focal(logits[:0], targets[:0], gamma=2.0, alpha=0.25).shape == (0,)


def test_ranking_by_class_asks_the_faces_own_class_to_lose_probability() -> None:
    blend, face = torch.tensor([[0.5, 0.4, 0.1]]), torch.tensor([[0.6, 0.3, 0.1]])
    label = torch.tensor([0])
    assert ranking_by_class(blend, face, label, margin=0.2).tolist() == pytest.approx([0.1])
    assert ranking_by_class(blend, face, torch.tensor([1]), margin=0.2).tolist() == pytest.approx(
        [0.3]
    )
    assert ranking_by_class(face - 0.5, face, label, margin=0.2).tolist() == [0]


def test_ranking_by_logit_compares_the_largest_logits_of_any_class() -> None:
    blend, face = torch.tensor([[3.0, 1.0]]), torch.tensor([[0.0, 3.5]])
    assert ranking_by_logit(blend, face).tolist() == [0.5]
    assert ranking_by_logit(blend - 1, face).tolist() == [0]
