"""What all methods share: figures for the log, and passes whose dropout can be repeated."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import nn

from train.batches import Batch, TrainingFaces
from train.methods.method import EpochMeans, Method
from train.ranks import Ranks
from train.recipe import Recipe


def test_figures_are_means_over_the_steps_of_an_epoch_and_start_again(alone: Ranks) -> None:
    means = EpochMeans()
    means.add(torch.tensor(1.0, requires_grad=True), torch.tensor(10.0))
    means.add(torch.tensor(2.0), torch.tensor(30.0))
    assert means.take(alone) == [1.5, 20.0]
    means.add(torch.tensor(7.0), torch.tensor(8.0))
    assert means.take(alone) == [7.0, 8.0]


def test_a_plain_method_has_no_state_and_nothing_to_say(
    recipe: Recipe, faces: TrainingFaces, alone: Ranks
) -> None:
    method = Method(recipe, faces, nn.Identity(), alone)
    method.restore({})
    assert (dict(method.state()), method.end_epoch(0)) == ({}, "")


def test_dropout_is_that_of_the_step_whatever_was_drawn_before(
    recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    hand_batch: Callable[..., Batch],
    alone: Ranks,
) -> None:
    method = Method(recipe, hand_faces([0, 1]), nn.Dropout(0.5), alone)
    batch, view = hand_batch([(255, 255)], [0]), torch.ones(1, 1, 16, 16)
    (first,) = method.run(batch, view)
    torch.manual_seed(99)
    (again,) = method.run(batch, view)
    (other,) = method.run(replace(batch, seed=1), view)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("bfloat16", [False, True])
def test_losses_are_computed_in_fp32(
    bfloat16: bool,
    recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    hand_batch: Callable[..., Batch],
    alone: Ranks,
) -> None:
    seen: list[torch.dtype] = []

    class Watched(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            output = super().forward(x)
            seen.append(output.dtype)
            return output

    method = Method(replace(recipe, bfloat16=bfloat16), hand_faces([0, 1]), Watched(4, 2), alone)
    (logits,) = method.run(hand_batch([(255, 255)], [0]), torch.ones(1, 1, 4, 4))
    assert seen == [torch.bfloat16 if bfloat16 else torch.float32]
    assert logits.dtype == torch.float32
