"""The ranking losses against numbers worked out by hand."""

import math

import pytest
import torch

from train.methods.cross_entropy import cross_entropy
from train.methods.focal import focal
from train.methods.rank_o_tom import (
    ranking,
    ranking_by_class,
    ranking_by_logit,
    ranking_by_targets,
)


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
