"""EAC's loss and its gradients, worked out by hand."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import nn

from train.batches import Batch, TrainingFaces
from train.methods.eac import Eac
from train.methods.settings import EacSettings
from train.networks import build_network
from train.ranks import Ranks
from train.recipe import Recipe


@pytest.fixture
def network(hand_network: Callable[..., nn.Module]) -> nn.Module:
    made = hand_network([1.0, 2.0], [0.0, -0.25])
    made.get_parameter("columns").data = torch.tensor([1.0, 0.5])
    return made


@pytest.fixture
def recipe_without_holes(hand_recipe: Recipe) -> Recipe:
    return replace(hand_recipe, method="eac", eac=EacSettings(erase_chance=0.0))


@pytest.fixture
def batch(hand_batch: Callable[..., Batch]) -> Batch:
    return hand_batch([(255, 0)], [0])


def test_the_loss_is_the_label_loss_and_five_times_the_mean_gap_of_the_maps(
    network: nn.Module,
    recipe_without_holes: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    batch: Batch,
    alone: Ranks,
) -> None:
    """The face (1, -1) has the map (1, -0.5); its mirror image (-1, 1) has (-1, 0.5), mirrored back
    (0.5, -1). They differ by 0.5 everywhere, so D is 0.25 for class one and 4 x 0.25 for class two.
    The pooled feature is 0.25, so the logits are 0.25 and 0.5 - 0.25.
    """
    result = Eac(recipe_without_holes, hand_faces([0, 1]), network, alone).step(batch)
    assert result.loss.item() == pytest.approx(0.693147 + 5 * (0.25 + 1.0) / 2, abs=1e-5)
    assert result.probabilities.tolist() == [pytest.approx([0.5, 0.5])]


def test_agreement_teaches_both_passes_and_not_the_last_layer(
    network: nn.Module,
    recipe_without_holes: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    batch: Batch,
    alone: Ranks,
) -> None:
    """With column weights (c, d) the gap is c - d everywhere, and D_k = W_k^2 (c - d)^2. Of D_one
    and D_two the derivatives by c are 1 and 4; five times their mean is 12.5 (half of it where one
    pass alone were taught). The logit of k is W_k (c - d) / 2, so the label loss adds -0.25 + 0.5.
    """
    Eac(recipe_without_holes, hand_faces([0, 1]), network, alone).step(batch).loss.backward()
    columns = network.get_parameter("columns").grad
    assert columns is not None
    assert columns.tolist() == pytest.approx([12.75, -12.75])
    last = network.get_parameter("fc.weight").grad
    assert last is not None
    assert last.flatten().tolist() == pytest.approx([-0.5 * 0.25, 0.5 * 0.25])  # label loss alone


def test_the_weight_of_agreement_grows_over_the_first_tenth_of_the_run(
    network: nn.Module,
    recipe_without_holes: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    batch: Batch,
    alone: Ranks,
) -> None:
    method = Eac(recipe_without_holes, hand_faces([0, 1]), network, alone)
    losses = [method.step(replace(batch, progress=at)).loss.item() for at in (0.0, 0.05, 0.1)]
    assert losses == pytest.approx([0.693147 + share * 3.125 for share in (0, 0.5, 1)], abs=1e-5)
    settings = EacSettings(erase_chance=0.0, warm_up=0.0)
    recipe = replace(recipe_without_holes, eac=settings)
    method = Eac(recipe, hand_faces([0, 1]), network, alone)
    assert method.step(replace(batch, progress=0.0)).loss.item() == pytest.approx(losses[-1])


def test_the_log_has_the_agreements_share_and_says_where_eac_has_nothing_to_do(
    network: nn.Module,
    recipe_without_holes: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    batch: Batch,
    alone: Ranks,
) -> None:
    method = Eac(recipe_without_holes, hand_faces([0, 1]), network, alone)
    method.step(replace(batch, progress=0.05))
    assert method.end_epoch(0) == "consistency 4.508 of the label loss"  # 3.125 / 0.693
    network.get_parameter("columns").data = torch.ones(2)  # a face and its mirror image agree
    method.step(batch)
    assert method.end_epoch(0) == "consistency 0.000 of the label loss"  # during the warm-up
    method.step(batch)
    assert method.end_epoch(1) == (
        "consistency 0.000 of the label loss; EAC has nothing left to do: its maps agree"
    )


def test_batch_norm_sees_the_face_and_its_mirror_image_apart(
    recipe: Recipe, faces: TrainingFaces, hand_batch: Callable[..., Batch], alone: Ranks
) -> None:
    network = build_network("edge-narrow", channels=1, classes=4, dropout=0.0)
    still = replace(recipe, method="eac", size=16)
    Eac(still, faces, network, alone).step(hand_batch([(255, 0)] * 8, [0] * 8, classes=4))
    assert network.get_buffer("bn1.num_batches_tracked") == 2
