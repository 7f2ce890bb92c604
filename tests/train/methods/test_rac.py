"""RAC's class weights, smooth labels and loss, worked out by hand."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from calib.errors import RankotomError
from train.batches import Batch, TrainingFaces
from train.methods.rac import RAFDB_SUM, Rac, class_weights, smooth_labels
from train.methods.settings import RacSettings
from train.ranks import Ranks
from train.recipe import Recipe

# RAF-DB's training faces and the authors' constants for them.
RAFDB = {
    "surprise": (1290, 0.951),
    "fear": (281, 4.367),
    "disgust": (717, 1.711),
    "happiness": (4772, 0.257),
    "sadness": (1982, 0.619),
    "anger": (705, 1.741),
    "neutral": (2524, 0.486),
}


def test_the_class_weights_of_rafdb_are_the_authors_constants() -> None:
    labels = np.repeat(np.arange(7), [count for count, _ in RAFDB.values()])
    published = [weight for _, weight in RAFDB.values()]
    assert class_weights(labels, 7, False).tolist() == pytest.approx(published, abs=1e-3)
    assert sum(published) == pytest.approx(RAFDB_SUM)
    assert class_weights(labels, 7, True).tolist() == pytest.approx(published, abs=1e-3)


def test_normalised_class_weights_have_rafdbs_sum_and_skip_a_class_without_faces() -> None:
    labels = np.repeat([0, 1, 3], [6, 3, 1])
    # 10 / (10 x 6), 10 / (10 x 3), 10 / (10 x 1): their sum is 1.5
    plain = [1 / 6, 1 / 3, 0, 1]
    assert class_weights(labels, 4, False).tolist() == pytest.approx(plain)
    scaled = class_weights(labels, 4, True).tolist()
    assert scaled == pytest.approx([10.132 / 1.5 * each for each in plain])


def test_a_smooth_label_shares_epsilon_among_the_other_classes_by_weight() -> None:
    smooth = smooth_labels(torch.tensor([1.0, 2.0, 3.0]), 0.3)
    assert smooth.flatten().tolist() == pytest.approx(
        [
            *(0.7, 0.3 * 2 / 5, 0.3 * 3 / 5),
            *(0.3 * 1 / 4, 0.7, 0.3 * 3 / 4),
            *(0.3 * 1 / 3, 0.3 * 2 / 3, 0.7),
        ]
    )


def test_every_happy_face_of_ferplus_is_taught_contempt_and_disgust() -> None:
    """Neutral, happiness, surprise, sadness, anger, disgust, fear, contempt: N / (10 N_k)."""
    weights = torch.tensor([0.275, 0.379, 0.796, 0.805, 1.153, 14.72, 4.353, 17.10])
    happy = smooth_labels(weights, 0.3)[1]
    assert happy[7].item() == pytest.approx(0.131, abs=1e-3)
    assert happy[5].item() == pytest.approx(0.113, abs=1e-3)
    torch.testing.assert_close(smooth_labels(weights * 3, 0.3)[1], happy)  # normalising is no cure


def test_the_loss_weighs_the_maps_of_rare_classes_more_and_sums_over_classes(
    hand_network: Callable[..., nn.Module],
    hand_recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    hand_batch: Callable[..., Batch],
    alone: Ranks,
) -> None:
    """As in test_eac.py D is 0.25 and 1. With one face of class one and three of class two the
    weights are 4 / 10 and 4 / 30. The label is (0.7, 0.3). With the logits 0.25 and 1.348612, which
    are ln 3 apart, p is (0.25, 0.75).
    """
    network = hand_network([1.0, 2.0], [0.0, 1.348612 - 0.5])
    network.get_parameter("columns").data = torch.tensor([1.0, 0.5])
    settings = RacSettings(erase_chance=0.0, class_weights="as written")
    recipe = replace(hand_recipe, method="rac", rac=settings)
    method = Rac(recipe, hand_faces([0, 1, 1, 1]), network, alone)
    result = method.step(hand_batch([(255, 0)], [0]))
    labels = 0.7 * 1.386294 + 0.3 * 0.287682
    agreement = 0.1 * (0.4 * 0.25 + 0.133333 * 1.0)
    assert result.loss.item() == pytest.approx(labels + agreement, abs=1e-5)
    assert method.end_epoch(0) == "consistency 0.022 of the label loss"
    network.get_parameter("columns").data = torch.ones(2)
    method.step(hand_batch([(255, 0)], [0]))
    assert method.end_epoch(1).endswith("; RAC has nothing left to do: its maps agree")


@pytest.mark.parametrize("change", [{"targets": "votes"}, {"distil": 0.5}])
def test_votes_and_teachers_exclude_smooth_labels(
    change: dict[str, Any],
    hand_network: Callable[..., nn.Module],
    hand_recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    alone: Ranks,
) -> None:
    recipe = replace(hand_recipe, method="rac", **change)
    with pytest.raises(RankotomError, match="RAC smooths labels"):
        Rac(recipe, hand_faces([0, 1]), hand_network([1.0, 2.0], [0.0, 0.0]), alone)
