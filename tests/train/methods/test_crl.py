"""CRL's ranking of neighbours, worked out by hand."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import nn

from calib.errors import RankotomError
from train.batches import Batch, TrainingFaces
from train.methods.crl import Crl, correctness_ranking
from train.methods.settings import CrlSettings
from train.ranks import Ranks
from train.recipe import Recipe


def test_each_face_and_its_neighbour_should_be_apart_by_the_gap_of_their_votes() -> None:
    clarity, confidence = torch.tensor([0.9, 0.5, 0.5]), torch.tensor([0.6, 0.7, 0.4])
    assert correctness_ranking(confidence, clarity).tolist() == pytest.approx(
        [
            0.5,  # the clearer face is 0.1 less sure, and should be 0.4 more
            0.0,  # equal votes have no order
            0.2,  # the last face's neighbour is the first: 0.2 less sure, and should be 0.4 less
        ]
    )


def test_a_pair_further_apart_than_its_votes_costs_nothing() -> None:
    losses = correctness_ranking(torch.tensor([0.9, 0.3]), torch.tensor([0.8, 0.6]))
    assert losses.tolist() == [0.0, 0.0]


def test_the_loss_is_cross_entropy_and_the_mean_of_the_ranking(
    hand_network: Callable[..., nn.Module],
    hand_recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    hand_batch: Callable[..., Batch],
    alone: Ranks,
) -> None:
    """The logits of a white face are (0, ln 3), so p = (0.25, 0.75); those of a black one are
    (0, -ln 3), and p = (0.75, 0.25). Both are equally sure, but the votes say 0.9 and 0.6.
    """
    network = hand_network([0.0, 1.098612], [0.0, 0.0])
    faces = hand_faces([0, 1], peaks=[0.9, 0.6])
    method = Crl(replace(hand_recipe, method="crl"), faces, network, alone)
    result = method.step(hand_batch([(255, 255), (0, 0)], [0, 0]))
    labels = (1.386294 + 0.287682) / 2
    assert result.loss.item() == pytest.approx(labels + 0.3, abs=1e-5)
    result.loss.backward()
    # By the bias of class two: the label loss has the mean of p_two, 0.5; the white face's
    # confidence 0.75 x 0.25, which should rise, and the black one's minus that, which should fall.
    bias = network.get_parameter("fc.bias").grad
    assert bias is not None
    assert bias[1].item() == pytest.approx(0.5 - 2 * 0.1875)
    assert method.end_epoch(0) == "order 0.358 of the label loss"
    twice = replace(hand_recipe, method="crl", crl=CrlSettings(weight=2.0))
    result = Crl(twice, faces, network, alone).step(hand_batch([(255, 255), (0, 0)], [0, 0]))
    assert result.loss.item() == pytest.approx(labels + 0.6, abs=1e-5)


def test_the_log_says_where_crl_does_nothing(
    hand_network: Callable[..., nn.Module],
    hand_recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    hand_batch: Callable[..., Batch],
    alone: Ranks,
) -> None:
    network, faces = hand_network([0.0, 1.0], [0.0, 0.0]), hand_faces([0, 1], peaks=[0.7, 0.7])
    method = Crl(replace(hand_recipe, method="crl"), faces, network, alone)
    method.step(hand_batch([(255, 255), (0, 0)], [0, 1]))
    assert method.end_epoch(0).endswith("; CRL does nothing: no pair is out of order")


def test_a_data_set_without_votes_is_refused(
    hand_network: Callable[..., nn.Module],
    hand_recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    alone: Ranks,
) -> None:
    with pytest.raises(RankotomError, match="CRL ranks faces by annotators' votes"):
        Crl(hand_recipe, hand_faces([0, 1]), hand_network([0.0, 1.0], [0.0, 0.0]), alone)
