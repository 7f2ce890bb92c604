"""The parts of the loop around a method's step."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim import SGD

from train.augment import scale_pixels
from train.loop import build_optimizer, predict, set_learning_rate, update_average
from train.networks import build_network
from train.ranks import Ranks
from train.recipe import Recipe


def test_prediction_is_at_the_size_asked_for_and_one_row_a_face(alone: Ranks) -> None:
    torch.manual_seed(0)
    network = build_network("edge-narrow", channels=1, classes=4, dropout=0.5).eval()
    faces = np.random.default_rng(0).integers(0, 256, (700, 1, 16, 16), dtype=np.uint8)
    logits = predict(network, faces, 16, alone.device)
    assert logits.shape == (700, 4)
    with torch.inference_mode():
        one = network(scale_pixels(torch.from_numpy(faces[650:651])))
    torch.testing.assert_close(logits[650:651], one, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(predict(network, faces, 24, alone.device), logits)


def test_averaged_weights_follow_slowly_and_without_a_decay_at_once() -> None:
    network, averaged = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    nn.init.constant_(network.weight, 1.0)
    nn.init.constant_(averaged.weight, 0.0)
    update_average(averaged, network, 0.9, step=1000)
    assert averaged.weight.item() == pytest.approx(0.1)
    update_average(averaged, network, 0.999, step=0)  # at first the decay is smaller
    assert averaged.weight.item() == pytest.approx(0.1 + 0.9 * 0.9)
    update_average(averaged, network, 0.0, step=1000)
    assert averaged.weight.item() == 1.0


def test_batch_statistics_are_copied_not_averaged() -> None:
    network, averaged = nn.BatchNorm2d(1), nn.BatchNorm2d(1)
    network(torch.full((2, 1, 2, 2), 5.0))
    update_average(averaged, network, 0.999, step=1000)
    assert torch.equal(averaged.state_dict()["running_mean"], network.state_dict()["running_mean"])


@pytest.mark.parametrize(
    ("progress", "share"), [(0.0, 0.04), (0.05, 0.52), (0.1, 1.0), (0.55, 0.5), (1.0, 0.0)]
)
def test_one_cycle_rises_for_a_tenth_and_then_falls_as_a_cosine(
    recipe: Recipe, progress: float, share: float
) -> None:
    optimizer = SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    set_learning_rate(optimizer, replace(recipe, schedule="one-cycle"), progress)
    assert optimizer.param_groups[0]["lr"] == pytest.approx(2e-3 * share, abs=1e-9)
    set_learning_rate(optimizer, recipe, progress)
    assert optimizer.param_groups[0]["lr"] == 2e-3


def test_decay_pulls_on_weights_and_not_on_biases_or_batch_norms(recipe: Recipe) -> None:
    network = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Linear(2, 2))
    decaying, free = build_optimizer(replace(recipe, weight_decay=0.1), network).param_groups
    assert [each.ndim for each in decaying["params"]] == [4, 2]
    assert [each.ndim for each in free["params"]] == [1, 1, 1, 1]
    assert (decaying["weight_decay"], free["weight_decay"]) == (0.1, 0.0)
