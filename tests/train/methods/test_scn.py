"""SCN's weights, groups and new labels, worked out by hand."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from calib.errors import RankotomError
from train.batches import Batch, TrainingFaces
from train.methods.scn import Scn, high_group, rank_regularisation, relabelled
from train.methods.settings import ScnSettings
from train.networks import build_network
from train.ranks import Ranks
from train.recipe import Recipe

LN3 = 1.098612
# Half of a batch of two, and far enough apart for the rank loss to bite.
SETTINGS = ScnSettings(high_share=0.5, margin=0.6)


@pytest.fixture
def network(hand_network: Callable[..., nn.Module]) -> nn.Module:
    """A white face has importance 0.75 and the logits 0.75 (0, -4 ln 3), so p = (27, 1) / 28.
    A black face has importance 0.25 and the logits 0.25 (0, 4 ln 3), so p = (1, 3) / 4.
    """
    made = hand_network([0.0, -4 * LN3], [0.0, 0.0], importance=True)
    made.get_parameter("fc.importance.weight").data = torch.tensor([[LN3]])
    made.get_parameter("fc.importance.bias").data = torch.zeros(1)
    return made


@pytest.fixture
def scn_recipe(hand_recipe: Recipe) -> Recipe:
    return replace(hand_recipe, method="scn", scn=SETTINGS)


def test_the_high_group_is_the_largest_seven_tenths_rounded_down() -> None:
    importance = torch.tensor([0.1, 0.9, 0.5, 0.3, 0.7])
    assert high_group(importance, 0.7).tolist() == [False, True, True, False, True]


def test_the_groups_means_should_be_apart_by_the_margin() -> None:
    importance, high = torch.tensor([0.9, 0.2, 0.8, 0.3]), torch.tensor([True, False, True, False])
    assert rank_regularisation(importance, high, 0.07).item() == 0  # 0.85 - 0.25
    assert rank_regularisation(importance, high, 0.75).item() == pytest.approx(0.15)


def test_the_rank_loss_raises_the_high_group_and_lowers_the_low_one() -> None:
    importance = torch.tensor([0.6, 0.6, 0.5], requires_grad=True)
    high = torch.tensor([True, True, False])
    rank_regularisation(importance, high, 0.15).backward()
    assert importance.grad is not None
    assert importance.grad.tolist() == pytest.approx([-0.5, -0.5, 1.0])


def test_a_label_changes_where_another_class_is_likelier_by_more_than_the_margin() -> None:
    probabilities = torch.tensor([[0.6, 0.3, 0.1], [0.45, 0.3, 0.25], [0.6, 0.3, 0.1]])
    labels = torch.tensor([1, 1, 0])  # 0.3 less likely, 0.15 less likely, the likeliest
    assert relabelled(probabilities.log(), labels, 0.2).tolist() == [0, 1, 0]


def test_the_loss_is_that_of_the_weighed_logits_and_the_rank_loss(
    network: nn.Module,
    scn_recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    hand_batch: Callable[..., Batch],
    alone: Ranks,
) -> None:
    method = Scn(scn_recipe, hand_faces([0, 0, 1]), network, alone)
    result = method.step(hand_batch([(255, 255), (0, 0)], [0, 0]))
    labels = (0.036368 + 1.386294) / 2  # -ln 27/28 and -ln 1/4
    assert result.loss.item() == pytest.approx(labels + 0.6 - 0.5, abs=1e-5)
    assert result.probabilities.flatten().tolist() == pytest.approx(
        [27 / 28, 1 / 28, 1 / 4, 3 / 4], abs=1e-6
    )
    assert method.end_epoch(0) == "importance 0.75 and 0.25, rank loss 0.100"


def test_at_test_the_logits_are_weighed_too_and_the_answer_is_that_of_the_plain_ones(
    network: nn.Module,
) -> None:
    face = torch.full((1, 1, 2, 2), -1.0)
    network.get_parameter("fc.bias").data = torch.tensor([0.0, 2 * LN3])
    assert network(face).tolist() == [pytest.approx([0, (4 + 2) / 4 * LN3])]  # bias and all
    head = network.get_submodule("fc")
    assert isinstance(head, nn.Linear)
    plain = nn.functional.linear(torch.tensor([[-1.0]]), head.weight, head.bias)
    assert network(face).argmax() == plain.argmax()


def test_scn_starts_with_the_weights_that_every_other_method_starts_with() -> None:
    def start(importance: bool) -> dict[str, Tensor]:
        torch.manual_seed(0)
        return build_network(
            "edge-narrow", channels=1, classes=4, dropout=0.0, importance=importance
        ).state_dict()

    ours, theirs = start(True), start(False)
    assert ours.keys() - theirs.keys() == {"fc.importance.weight", "fc.importance.bias"}
    assert all(torch.equal(ours[key], theirs[key]) for key in theirs)


@pytest.mark.parametrize(("relabel", "expected"), [("low", [1, 1, 1]), ("all", [0, 1, 1])])
def test_labels_change_from_an_epoch_on_for_the_next_time_a_face_is_drawn(
    relabel: Literal["low", "all"],
    expected: list[int],
    network: nn.Module,
    scn_recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    hand_batch: Callable[..., Batch],
    alone: Ranks,
) -> None:
    """Both labels are wrong by far, (1, 0); the black face is in the low group, the white is not.
    The third face is not drawn. The paper changes the low group alone, the authors' code all.
    """
    recipe = replace(scn_recipe, scn=replace(SETTINGS, relabel=relabel))
    method = Scn(recipe, hand_faces([1, 0, 1]), network, alone)
    batch = hand_batch([(255, 255), (0, 0)], [1, 0])
    with_given_labels = (3.332205 + 1.386294) / 2 + 0.1  # -ln 1/28 and -ln 1/4
    for epoch in (4, 5):  # of ten: they change from half of the run on
        for _ in range(2):  # within the epoch the old labels hold
            loss = method.step(replace(batch, epoch=epoch)).loss.item()
            assert loss == pytest.approx(with_given_labels, abs=1e-5)
        assert method.state()["labels"].tolist() == [1, 0, 1]
        words = method.end_epoch(epoch)
        assert ("changed" in words) == (epoch == 5)
    assert method.state()["labels"].tolist() == expected
    assert words.endswith(
        "1 labels changed (now two 1)"
        if relabel == "low"
        else "2 labels changed (now two 1, one 1)"
    )
    white = 3.332205 if relabel == "low" else 0.036368
    loss = method.step(replace(batch, epoch=6)).loss.item()
    assert loss == pytest.approx((white + 0.287682) / 2 + 0.1, abs=1e-5)


def test_a_restored_method_continues_with_the_changed_labels_and_counts_from_the_given_ones(
    network: nn.Module,
    scn_recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    hand_batch: Callable[..., Batch],
    alone: Ranks,
) -> None:
    method = Scn(scn_recipe, hand_faces([1, 0, 1]), network, alone)
    method.restore({"labels": torch.tensor([1, 1, 0])})
    loss = method.step(hand_batch([(255, 255), (0, 0)], [1, 0])).loss.item()
    assert loss == pytest.approx((3.332205 + 0.287682) / 2 + 0.1, abs=1e-5)
    assert "2 labels changed (now two 1, one 1)" in method.end_epoch(0)
    assert method.state()["labels"].tolist() == [1, 1, 0]


def test_the_log_says_where_the_importances_are_saturated(
    network: nn.Module,
    scn_recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    hand_batch: Callable[..., Batch],
    alone: Ranks,
) -> None:
    network.get_parameter("fc.importance.bias").data = torch.tensor([5.0])
    method = Scn(scn_recipe, hand_faces([0, 1]), network, alone)
    method.step(hand_batch([(255, 255), (0, 0)], [0, 1]))
    assert method.end_epoch(0) == (
        "importance 1.00 and 0.98, rank loss 0.582; SCN does nothing: its importances are saturated"
    )


@pytest.mark.parametrize("change", [{"targets": "votes"}, {"distil": 0.5}, {"oversample": 0.5}])
def test_targets_that_are_not_a_label_are_refused(
    change: dict[str, Any],
    network: nn.Module,
    scn_recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    alone: Ranks,
) -> None:
    with pytest.raises(RankotomError, match="SCN changes labels"):
        Scn(replace(scn_recipe, **change), hand_faces([0, 1]), network, alone)
