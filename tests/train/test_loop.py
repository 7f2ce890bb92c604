"""The algorithm: one step against a plain retelling, and whole runs of a toy."""

import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD

from calib.errors import RankotomError
from train.augment import Strength, scale_pixels
from train.batches import Batch, TrainingFaces, batches
from train.blend import blend_faces
from train.checkpoint import load_checkpoint
from train.loop import (
    Outcome,
    average,
    build_optimizer,
    predict,
    rank_o_tom,
    set_learning_rate,
    train,
)
from train.losses import cross_entropy, focal
from train.networks import build_network
from train.progress import read_metrics
from train.ranks import Ranks
from train.recipe import Recipe

STILL = Strength(shift=0.0, flip=False)
NONE, ALL = torch.ones(4), torch.zeros(4)  # thresholds that nobody and everybody passes


@pytest.fixture
def network() -> nn.Module:
    """Nothing but a linear layer: what a face gives does not depend on the others."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(256, 4))


@pytest.fixture
def batch(recipe: Recipe, faces: TrainingFaces, alone: Ranks) -> Batch:
    return first_batch(replace(recipe, strength=STILL), faces, alone)


def first_batch(recipe: Recipe, faces: TrainingFaces, alone: Ranks) -> Batch:
    return next(iter(batches(recipe, faces, 0, alone, alone.device)))


def step(
    recipe: Recipe, network: nn.Module, batch: Batch, thresholds: Tensor, alone: Ranks
) -> Outcome:
    return rank_o_tom(recipe, network, network, batch, thresholds, 0, alone)


def weights(run: Path) -> dict[str, Tensor]:
    return load_checkpoint(run / "checkpoint.safetensors").tensors


def same(first: Path, second: Path) -> bool:
    ours, theirs = weights(first), weights(second)
    return ours.keys() == theirs.keys() and all(torch.equal(ours[key], theirs[key]) for key in ours)


def rows_without_time(run: Path) -> list[dict[str, str]]:
    return [{key: row[key] for key in row if key != "seconds"} for row in read_metrics(run)]


def retold_loss(
    recipe: Recipe,
    network: nn.Module,
    originals: list[tuple[Tensor, Tensor]],
    pairs: list[tuple[int, int, bool]],
) -> float:
    """The paper in a plain loop: faces with labels; which two blend, and if the first is above."""

    def judged(face: Tensor, label: Tensor) -> tuple[float, float]:
        p = network(face[None]).softmax(dim=1)[0]
        loss = -recipe.focal_alpha * (label * (1 - p) ** recipe.focal_gamma * p.log()).sum()
        return float(loss), float(p.max())

    of_originals, losses, ranked = [judged(*each) for each in originals], [], []
    for first, second, first_above in pairs:
        upper, lower = (first, second) if first_above else (second, first)
        blended = torch.cat([originals[upper][0][:, :8], originals[lower][0][:, 8:]], dim=1)
        loss, confidence = judged(blended, (originals[first][1] + originals[second][1]) / 2)
        losses.append(loss)
        ranked.append(
            max(0, confidence - of_originals[first][1] + recipe.ranking_margin)
            + max(0, confidence - of_originals[second][1] + recipe.ranking_margin)
        )
    labelled = [loss for loss, _ in of_originals] + losses
    return float(np.mean(labelled) + recipe.ranking_weight * np.mean(ranked))


@torch.no_grad()
def test_a_step_is_what_a_plain_retelling_of_the_paper_gives(
    recipe: Recipe, network: nn.Module, batch: Batch, alone: Ranks
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
    opinions = network(fr).softmax(dim=1)
    confidence = opinions.max(dim=1).values
    thresholds = torch.full((4,), float(confidence.sort().values[1:3].mean()))
    kept = (confidence > thresholds[0]).tolist()
    assert kept.count(True) == 2

    outcome = step(recipe, network, batch, thresholds, alone)

    chosen = [face for face in range(4) if kept[face]]
    labels = torch.eye(4)[opinions.argmax(dim=1)]
    originals = list(zip(fer, batch.targets, strict=True))
    originals += [(fr[face], labels[face]) for face in chosen]
    pairs = [(face, 8 + place, bool(batch.fer_above[face])) for place, face in enumerate(chosen)]
    assert (outcome.offered, outcome.kept) == (4, 2)
    expected = retold_loss(recipe, network, originals, pairs)
    assert outcome.loss.item() == pytest.approx(expected, rel=1e-5)


@torch.no_grad()
def test_without_faces_from_elsewhere_neighbours_are_blended(
    recipe: Recipe, network: nn.Module, batch: Batch, alone: Ranks
) -> None:
    recipe = replace(recipe, strength=STILL, face_recognition=False, ranking_weight=0.5)
    batch = replace(batch, fr=None)
    outcome = step(recipe, network, batch, ALL, alone)
    originals = list(zip(scale_pixels(batch.fer), batch.targets, strict=True))
    pairs = [(face, face ^ 1, bool(batch.fer_above[face])) for face in range(8)]
    expected = retold_loss(recipe, network, originals, pairs)
    assert outcome.loss.item() == pytest.approx(expected, rel=1e-5)
    assert outcome.offered == 0


def test_faces_without_a_pseudo_label_change_nothing(
    recipe: Recipe, faces: TrainingFaces, alone: Ranks
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
        outcome = step(recipe, network, replace(trimmed, fr=fr), NONE, alone)
        network.zero_grad()
        outcome.loss.backward()
        losses.append(outcome.loss.item())
        states.append(
            [value.clone() for value in network.state_dict().values()]
            + [each.grad.clone() for each in network.parameters() if each.grad is not None]
        )
        assert outcome.kept == 0
    assert losses[0] == losses[1] == losses[2]
    for other in states[1:]:
        assert all(torch.equal(mine, theirs) for mine, theirs in zip(states[0], other, strict=True))


@torch.no_grad()
def test_each_part_of_the_paper_can_be_left_out(
    recipe: Recipe, network: nn.Module, batch: Batch, alone: Ranks
) -> None:
    plain = replace(recipe, strength=STILL, blends=False, face_recognition=False)
    fer = network(scale_pixels(batch.fer))
    alone_batch = replace(batch, fr=None)
    torch.testing.assert_close(
        step(plain, network, alone_batch, NONE, alone).loss,
        focal(fer, batch.targets, gamma=2.0, alpha=0.25).mean(),
    )
    torch.testing.assert_close(
        step(replace(plain, loss="cross-entropy"), network, alone_batch, NONE, alone).loss,
        cross_entropy(fer, batch.targets).mean(),
    )


@torch.no_grad()
def test_a_soft_pseudo_label_is_trained_on_as_it_is(
    recipe: Recipe, network: nn.Module, batch: Batch, alone: Ranks
) -> None:
    soft = replace(recipe, strength=STILL, blends=False, pseudo_targets="probabilities")
    batch = replace(batch, fr_draws=(batch.fr_draws[2],) * 3)
    assert batch.fr is not None
    logits = network(scale_pixels(torch.cat([batch.fer, batch.fr])))
    targets = torch.cat([batch.targets, logits[8:].softmax(dim=1)])
    expected = focal(logits, targets, gamma=2.0, alpha=0.25).mean()
    torch.testing.assert_close(step(soft, network, batch, ALL, alone).loss, expected)


def test_two_runs_of_a_seed_end_with_the_same_bits(
    finished: Path, recipe: Recipe, faces: TrainingFaces, alone: Ranks, tmp_path: Path
) -> None:
    torch.manual_seed(99)  # whatever was drawn before
    train(replace(recipe, epochs=3), faces, tmp_path, alone)
    assert same(finished, tmp_path)
    assert rows_without_time(finished) == rows_without_time(tmp_path)


def test_another_seed_ends_elsewhere(
    finished: Path, recipe: Recipe, faces: TrainingFaces, alone: Ranks, tmp_path: Path
) -> None:
    train(replace(recipe, epochs=3, seed=1), faces, tmp_path, alone)
    ours, theirs = weights(finished), weights(tmp_path)
    assert not torch.equal(ours["network.conv1.weight"], theirs["network.conv1.weight"])


# How the process dies by its own hand, at a moment that can be told beforehand.
DIE = "import os, signal; die = lambda: os.kill(os.getpid(), signal.SIGKILL)\n"
DIE_AT_STEP = (
    DIE
    + """
import train.loop
steps, real = 0, train.loop.average
def average(*given):
    global steps
    real(*given)
    steps += 1
    if steps == {step}: die()
train.loop.average = average
"""
)
DIE_BEFORE_THE_CHECKPOINT_IS_IN_PLACE = (
    DIE
    + """
import train.checkpoint
class Os:
    fsync = staticmethod(os.fsync)
    replace = staticmethod(lambda *given: die())
train.checkpoint.os = Os
"""
)


def test_a_run_killed_twice_ends_with_the_bits_of_one_that_was_not(
    finished: Path,
    recipe: Recipe,
    faces: TrainingFaces,
    alone: Ranks,
    tmp_path: Path,
    start_training: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    epochs_done = []
    for prelude in (
        DIE_AT_STEP.format(step=6),  # of four an epoch: in the middle of the second
        DIE_BEFORE_THE_CHECKPOINT_IS_IN_PLACE,  # the second is in metrics.csv and nowhere else
    ):
        died = start_training(tmp_path, {"epochs": 3}, prelude)
        assert died.returncode == -signal.SIGKILL, died.stderr
        epochs_done.append(
            (
                load_checkpoint(tmp_path / "checkpoint.safetensors").epoch,
                len(read_metrics(tmp_path)),
            )
        )
    assert epochs_done == [(1, 1), (1, 2)]
    train(replace(recipe, epochs=3), faces, tmp_path, alone)
    assert same(finished, tmp_path)
    assert rows_without_time(finished) == rows_without_time(tmp_path)


def test_a_run_that_is_at_its_end_stays_as_it_is(
    finished: Path, recipe: Recipe, faces: TrainingFaces, alone: Ranks
) -> None:
    before = (finished / "checkpoint.safetensors").read_bytes()
    path = train(replace(recipe, epochs=3), faces, finished, alone)
    assert path.read_bytes() == before
    assert len(read_metrics(finished)) == 3


def test_weights_to_start_from_are_where_a_run_starts(
    finished: Path, recipe: Recipe, faces: TrainingFaces, alone: Ranks, tmp_path: Path
) -> None:
    given = load_checkpoint(finished / "checkpoint.safetensors").weights
    torch.save(given, tmp_path / "start.pth")
    still = replace(recipe, epochs=1, learning_rate=0.0)
    train(still, faces, tmp_path / "run", alone, weights=tmp_path / "start.pth")
    ended = load_checkpoint(tmp_path / "run" / "checkpoint.safetensors").weights
    assert torch.equal(ended["layer3.0.conv1.weight"], given["layer3.0.conv1.weight"])
    assert not torch.equal(ended["fc.weight"], given["fc.weight"])


def test_a_run_that_diverges_ends_with_an_error_and_keeps_its_checkpoint(
    recipe: Recipe, faces: TrainingFaces, alone: Ranks, tmp_path: Path
) -> None:
    poisoned = replace(faces, targets=np.full_like(faces.targets, np.nan))
    with pytest.raises(RankotomError, match="loss became nan"):
        train(recipe, poisoned, tmp_path, alone)
    assert not (tmp_path / "checkpoint.safetensors").exists()


def rank_order(run: Path, faces: TrainingFaces) -> float:
    """Of blends of two classes, the share that is less confident than both their faces."""
    network = build_network("edge-narrow", channels=1, classes=4, dropout=0.0)
    network.load_state_dict(load_checkpoint(run / "checkpoint.safetensors").weights)
    upper, lower = (
        torch.from_numpy(faces.choose),
        torch.from_numpy(np.roll(faces.choose, 1, axis=0)),
    )
    blends = blend_faces(upper, lower).numpy()
    device = torch.device("cpu")
    of_upper, of_lower, of_blend = (
        predict(network.eval(), pixels, 16, device).softmax(dim=1).max(dim=1).values
        for pixels in (upper.numpy(), lower.numpy(), blends)
    )
    pairs = torch.cat([of_upper > of_blend, of_lower > of_blend])
    return pairs.float().mean().item()


@pytest.fixture(scope="module")
def learned(
    recipe: Recipe,
    make_faces: Callable[[int], TrainingFaces],
    alone: Ranks,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Path]:
    """The toy learned in different ways."""
    base = replace(
        recipe,
        epochs=6,
        seed=2,
        strength=STILL,
        face_recognition=False,
        loss="cross-entropy",
        ema=0.0,
        dropout=0.0,
    )
    variants = {
        "labels": replace(base, blends=False, ranking_weight=0.0),
        "labels, blends and ranking": base,
        "ranking": replace(base, loss="focal", focal_alpha=0.0),
        "nothing": replace(base, epochs=1, learning_rate=0.0),
    }
    runs = {}
    for name, variant in variants.items():
        runs[name] = tmp_path_factory.mktemp("learned")
        train(variant, make_faces(64), runs[name], alone)
    return runs


@pytest.mark.parametrize("how", ["labels", "labels, blends and ranking"])
def test_a_toy_is_learned(learned: dict[str, Path], how: str) -> None:
    rows = read_metrics(learned[how])
    assert float(rows[-1]["loss"]) < 0.5 * float(rows[0]["loss"])
    assert float(rows[-1]["accuracy"]) > 0.95


def test_ranking_puts_blends_below_the_faces_that_they_are_of(
    learned: dict[str, Path], make_faces: Callable[[int], TrainingFaces]
) -> None:
    order = {how: rank_order(run, make_faces(64)) for how, run in learned.items()}
    assert order["nothing"] < 0.5
    assert order["ranking"] > 0.8
    assert order["labels, blends and ranking"] > order["labels"] + 0.1


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
    average(averaged, network, 0.9, step=1000)
    assert averaged.weight.item() == pytest.approx(0.1)
    average(averaged, network, 0.999, step=0)  # a young run forgets its start
    assert averaged.weight.item() == pytest.approx(0.1 + 0.9 * 0.9)
    average(averaged, network, 0.0, step=1000)
    assert averaged.weight.item() == 1.0


def test_batch_statistics_are_taken_over_not_averaged() -> None:
    network, averaged = nn.BatchNorm2d(1), nn.BatchNorm2d(1)
    network(torch.full((2, 1, 2, 2), 5.0))
    average(averaged, network, 0.999, step=1000)
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
