"""MbLS, worked out by hand."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import nn

from train.batches import Batch, TrainingFaces
from train.methods.mbls import Mbls, beyond_margin
from train.methods.settings import MblsSettings
from train.ranks import Ranks
from train.recipe import Recipe


def test_logits_further_below_the_largest_than_the_margin_count_as_their_mean_over_classes() -> (
    None
):
    logits = torch.tensor([[12.0, 0.0, 1.0, -3.0], [5.0, 4.0, 0.0, -5.0]])
    # 12, 11 and 15 below the largest; of the second face nothing is more than 10 below it.
    assert beyond_margin(logits, 10.0).tolist() == pytest.approx([(2 + 1 + 5) / 4, 0.0])


def test_the_loss_is_cross_entropy_and_a_tenth_of_what_is_beyond_the_margin(
    hand_network: Callable[..., nn.Module],
    hand_recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    hand_batch: Callable[..., Batch],
    alone: Ranks,
) -> None:
    """A white face has the logits (0, 14); its label is class two, so the label loss is 8e-7."""
    network = hand_network([0.0, 14.0], [0.0, 0.0])
    method = Mbls(replace(hand_recipe, method="mbls"), hand_faces([0, 1]), network, alone)
    result = method.step(hand_batch([(255, 255)], [1]))
    assert result.loss.item() == pytest.approx(0.1 * 4 / 2, abs=1e-5)
    result.loss.backward()
    weight = network.get_parameter("fc.weight").grad
    assert weight is not None
    assert weight.flatten().tolist() == pytest.approx([-0.05, 0.05], abs=1e-5)


def test_the_log_says_where_no_logit_is_beyond_the_margin(
    hand_network: Callable[..., nn.Module],
    hand_recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    hand_batch: Callable[..., Batch],
    alone: Ranks,
) -> None:
    """A white face with the logits (0, ln 3): label loss -ln 0.25, and ln 3 - 1 beyond margin 1."""
    network, batch = hand_network([0.0, 1.098612], [0.0, 0.0]), hand_batch([(255, 255)], [0])
    method = Mbls(hand_recipe, hand_faces([0, 1]), network, alone)
    method.step(batch)
    assert method.end_epoch(0) == (
        "margin 0.000 of the label loss; MbLS does nothing: no logit is beyond its margin"
    )
    recipe = replace(hand_recipe, mbls=MblsSettings(weight=1.0, margin=1.0))
    method = Mbls(recipe, hand_faces([0, 1]), network, alone)
    method.step(batch)
    assert method.end_epoch(0) == "margin 0.036 of the label loss"  # 0.0986 / 2 / 1.3863
