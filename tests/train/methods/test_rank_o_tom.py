"""One step against a plain implementation of the paper."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from train.augment import Strength, scale_pixels
from train.batches import Batch, TrainingFaces, batches
from train.blend import blend_faces, smooth_blend
from train.methods.cross_entropy import cross_entropy
from train.methods.focal import focal
from train.methods.method import StepResult
from train.methods.rank_o_tom import (
    RankOToM,
    label_loss,
    ranking_terms,
)
from train.networks import build_network
from train.ranks import Ranks
from train.recipe import Recipe

STILL = Strength(shift=0.0, flip=False)
NONE, ALL = torch.ones(4), torch.zeros(4)  # thresholds that no face and every face passes


Step = Callable[[Recipe, nn.Module, Batch, Tensor], StepResult]


@pytest.fixture
def step(faces: TrainingFaces, alone: Ranks) -> Step:
    def run(recipe: Recipe, network: nn.Module, batch: Batch, thresholds: Tensor) -> StepResult:
        method = RankOToM(recipe, faces, network, alone)
        method.thresholds = thresholds
        return method.step(batch)

    return run


@pytest.fixture
def network() -> nn.Module:
    """A linear layer alone, whose output for a face does not depend on the other faces."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(256, 4))


@pytest.fixture
def batch(recipe: Recipe, faces: TrainingFaces, alone: Ranks) -> Batch:
    return first_batch(replace(recipe, strength=STILL), faces, alone)


def first_batch(recipe: Recipe, faces: TrainingFaces, alone: Ranks) -> Batch:
    return next(iter(batches(recipe, faces, 0, alone, alone.device)))


def loss_by_hand(
    recipe: Recipe,
    network: nn.Module,
    originals: list[tuple[Tensor, Tensor]],
    pairs: list[tuple[int, int, bool]],
) -> float:
    """The paper in plain loops: labelled faces, and pairs with whether the first face is above."""

    def classify(face: Tensor, label: Tensor) -> tuple[float, float]:
        p = network(face[None]).softmax(dim=1)[0]
        loss = -recipe.focal_alpha * (label * (1 - p) ** recipe.focal_gamma * p.log()).sum()
        return float(loss), float(p.max())

    of_originals, losses, ranked = [classify(*each) for each in originals], [], []
    for first, second, first_above in pairs:
        upper, lower = (first, second) if first_above else (second, first)
        blended = torch.cat([originals[upper][0][:, :8], originals[lower][0][:, 8:]], dim=1)
        loss, confidence = classify(blended, (originals[first][1] + originals[second][1]) / 2)
        losses.append(loss)
        ranked.append(
            max(0, confidence - of_originals[first][1] + recipe.ranking_margin)
            + max(0, confidence - of_originals[second][1] + recipe.ranking_margin)
        )
    labelled = [loss for loss, _ in of_originals] + losses
    return float(np.mean(labelled) + recipe.ranking_weight * np.mean(ranked))


@torch.no_grad()
def test_a_step_has_the_loss_of_a_plain_implementation_of_the_paper(
    recipe: Recipe, network: nn.Module, batch: Batch, step: Step
) -> None:
    recipe = replace(recipe, strength=STILL, partners=0.5)
    still, four = batch.fr_draws[2].part(slice(4)), slice(4)
    assert batch.fr is not None
    batch = replace(
        batch,
        fr=batch.fr[four],
        fer_above=batch.fer_above[four],
        blend_draws=batch.blend_draws.part(four),
        fr_draws=(still, still, still),
    )
    assert batch.fr is not None
    fer, fr = scale_pixels(batch.fer), scale_pixels(batch.fr)
    probabilities = network(fr).softmax(dim=1)
    confidence = probabilities.max(dim=1).values
    thresholds = torch.full((4,), float(confidence.sort().values[1:3].mean()))
    kept = (confidence > thresholds[0]).tolist()
    assert kept.count(True) == 2
    chosen = [face for face in range(4) if kept[face]]
    own = batch.labels.clone()
    own[chosen] = probabilities.argmax(dim=1)[chosen]
    own[chosen[0]] = (own[chosen[0]] + 1) % 4  # so that one of the two pairs has different labels
    batch = replace(batch, labels=own)

    result = step(recipe, network, batch, thresholds)

    labels = torch.eye(4)[probabilities.argmax(dim=1)]
    originals = list(zip(fer, batch.targets, strict=True))
    originals += [(fr[face], labels[face]) for face in chosen]
    pairs = [
        (face, 8 + place, bool(batch.fer_above[face]))
        for place, face in enumerate(chosen)
        if batch.labels[face] != labels[face].argmax()
    ]
    assert (result.offered, result.kept) == (4, 2)
    expected = loss_by_hand(recipe, network, originals, pairs)
    assert result.loss.item() == pytest.approx(expected, rel=1e-5)


@torch.no_grad()
def test_without_faces_of_face_recognition_neighbours_with_different_labels_are_blended(
    recipe: Recipe, network: nn.Module, batch: Batch, step: Step
) -> None:
    recipe = replace(recipe, strength=STILL, face_recognition=False, ranking_weight=0.5)
    batch = replace(batch, fr=None)
    result = step(recipe, network, batch, ALL)
    originals = list(zip(scale_pixels(batch.fer), batch.targets, strict=True))
    pairs = [
        (face, face ^ 1, bool(batch.fer_above[face]))
        for face in range(8)
        if batch.labels[face] != batch.labels[face ^ 1]
    ]
    assert 0 < len(pairs) < 8
    expected = loss_by_hand(recipe, network, originals, pairs)
    assert result.loss.item() == pytest.approx(expected, rel=1e-5)
    assert result.offered == 0


@torch.no_grad()
@pytest.mark.parametrize("kind", ["targets", "logits"])
def test_other_readings_smooth_every_second_seam_and_rankmixup_has_no_labels_of_blends(
    kind: Literal["targets", "logits"],
    recipe: Recipe,
    network: nn.Module,
    batch: Batch,
    step: Step,
) -> None:
    recipe = replace(
        recipe, strength=STILL, face_recognition=False, ranking=kind, ranking_weight=0.5
    )
    first = torch.arange(8)
    second = first ^ 1
    upper = torch.where(batch.fer_above, first, second)
    blended = blend_faces(batch.fer[upper], batch.fer[upper ^ 1])
    blended[::2] = smooth_blend(batch.fer[upper[::2]], batch.fer[upper[::2] ^ 1])
    logits = network(scale_pixels(torch.cat([batch.fer, blended])))
    targets = torch.cat([batch.targets, (batch.targets + batch.targets[second]) / 2])
    labelled = 8 if kind == "logits" else 16
    expected = focal(logits[:labelled], targets[:labelled], gamma=2.0, alpha=0.25).mean()
    terms = ranking_terms(recipe, logits, targets, batch.labels, first, second)
    assert terms.sum() > 0
    result = step(recipe, network, replace(batch, fr=None), ALL)
    torch.testing.assert_close(result.loss, expected + 0.5 * terms.mean())


def test_faces_without_a_pseudo_label_change_nothing(
    recipe: Recipe, faces: TrainingFaces, alone: Ranks, step: Step
) -> None:
    torch.manual_seed(0)
    network = build_network("edge-narrow", channels=1, classes=4, dropout=0.0)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    batch = first_batch(recipe, faces, alone)
    losses, states = [], []
    for fr in (batch.fr, torch.zeros_like(batch.fer), None):
        network.load_state_dict(before)
        trimmed = (
            batch if fr is not None else first_batch(replace(recipe, partners=0.0), faces, alone)
        )
        result = step(recipe, network, replace(trimmed, fr=fr), NONE)
        network.zero_grad()
        result.loss.backward()
        losses.append(result.loss.item())
        states.append(
            [value.clone() for value in network.state_dict().values()]
            + [each.grad.clone() for each in network.parameters() if each.grad is not None]
        )
        assert result.kept == 0
    assert losses[0] == losses[1] == losses[2]
    for other in states[1:]:
        assert all(torch.equal(mine, theirs) for mine, theirs in zip(states[0], other, strict=True))


@torch.no_grad()
def test_each_part_of_the_paper_can_be_left_out(
    recipe: Recipe, network: nn.Module, batch: Batch, alone: Ranks, step: Step
) -> None:
    plain = replace(recipe, strength=STILL, blends=False, face_recognition=False)
    fer = network(scale_pixels(batch.fer))
    alone_batch = replace(batch, fr=None)
    torch.testing.assert_close(
        step(plain, network, alone_batch, NONE).loss,
        focal(fer, batch.targets, gamma=2.0, alpha=0.25).mean(),
    )
    torch.testing.assert_close(
        step(replace(plain, loss="cross-entropy"), network, alone_batch, NONE).loss,
        cross_entropy(fer, batch.targets).mean(),
    )


@torch.no_grad()
@pytest.mark.parametrize("whole", [True, False])
def test_a_batch_that_is_not_divided_into_pairs_may_be_odd(
    whole: bool, recipe: Recipe, network: nn.Module, faces: TrainingFaces, alone: Ranks, step: Step
) -> None:
    odd = replace(recipe, batch=7, blends=whole, face_recognition=whole)
    result = step(odd, network, first_batch(odd, faces, alone), ALL)
    assert torch.isfinite(result.loss)
    assert len(result.probabilities) == 7


@torch.no_grad()
def test_a_soft_pseudo_label_is_trained_on_as_it_is(
    recipe: Recipe, network: nn.Module, batch: Batch, step: Step
) -> None:
    soft = replace(recipe, strength=STILL, blends=False, pseudo_targets="probabilities")
    batch = replace(batch, fr_draws=(batch.fr_draws[2],) * 3)
    assert batch.fr is not None
    logits = network(scale_pixels(torch.cat([batch.fer, batch.fr])))
    targets = torch.cat([batch.targets, logits[8:].softmax(dim=1)])
    expected = focal(logits, targets, gamma=2.0, alpha=0.25).mean()
    torch.testing.assert_close(step(soft, network, batch, ALL).loss, expected)


def two_faces_and_their_blend(same_label: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Logits, targets and labels; the blend is surer than both faces."""
    logits = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
    labels = torch.tensor([0, 0 if same_label else 1])
    faces = torch.eye(3)[labels]
    return logits, torch.cat([faces, faces.mean(dim=0, keepdim=True)]), labels


@pytest.mark.parametrize("kind", ["fixed", "targets", "class", "logits"])
def test_every_reading_of_the_ranking_loss_lowers_a_blend_that_is_too_sure(
    recipe: Recipe, kind: Literal["fixed", "targets", "class", "logits"]
) -> None:
    logits, targets, labels = two_faces_and_their_blend(same_label=False)
    logits.requires_grad_()
    first, second = torch.tensor([0]), torch.tensor([1])
    terms = ranking_terms(replace(recipe, ranking=kind), logits, targets, labels, first, second)
    assert terms.shape == (1,)
    terms.sum().backward()
    assert logits.grad is not None
    assert logits.grad[2, 0] > 0  # a step down lowers the blend's largest logit


@pytest.mark.parametrize("kind", ["targets", "class", "logits"])
def test_faces_with_the_same_label_are_not_ranked(
    recipe: Recipe, kind: Literal["targets", "class", "logits"]
) -> None:
    logits, targets, labels = two_faces_and_their_blend(same_label=True)
    first, second = torch.tensor([0]), torch.tensor([1])
    terms = ranking_terms(replace(recipe, ranking=kind), logits, targets, labels, first, second)
    assert terms.tolist() == [0]


def test_the_loss_corrects_for_oversampling_and_the_probabilities_do_not(
    recipe: Recipe, faces: TrainingFaces, network: nn.Module, alone: Ranks, step: Step
) -> None:
    plain = replace(recipe, blends=False, ranking_weight=0.0, face_recognition=False)
    batch = first_batch(plain, faces, alone)
    tilted = replace(batch, tilt=torch.tensor([0.0, 0.0, 0.0, 2.0]))
    before, after = (step(plain, network, each, NONE) for each in (batch, tilted))
    assert torch.equal(before.probabilities, after.probabilities)
    logits = before.probabilities.log() + tilted.tilt
    expected = label_loss(plain, logits, batch.targets).mean()
    assert after.loss.item() == pytest.approx(expected.item(), rel=1e-4)


def test_the_log_says_where_there_are_no_blends(
    recipe: Recipe, faces: TrainingFaces, alone: Ranks, network: nn.Module, batch: Batch
) -> None:
    method = RankOToM(recipe, faces, network, alone)
    method.thresholds = NONE
    method.step(batch)
    assert method.end_epoch(0) == (
        "Rank-O-ToM does nothing: no FR face passed its threshold, so there are no blends"
    )
    method.thresholds = ALL
    method.step(batch)
    assert method.end_epoch(0) == ""
    method = RankOToM(replace(recipe, blends=False), faces, network, alone)
    method.thresholds = NONE
    method.step(batch)
    assert method.end_epoch(0) == ""  # asked for


def test_the_first_epochs_thresholds_are_those_of_t_one(
    recipe: Recipe, faces: TrainingFaces, alone: Ranks, network: nn.Module
) -> None:
    method = RankOToM(recipe, faces, network, alone)
    method.correct.add(torch.tensor([[0.8, 0.1, 0.1, 0.0]]), torch.tensor([0]))
    method.end_epoch(0)
    first = 0.97 / (1 + math.exp(-1)) * 0.8
    assert method.state()["thresholds"].tolist() == pytest.approx([first, 0.26, 0.26, 0.26])
