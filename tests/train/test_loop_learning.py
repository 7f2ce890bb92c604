"""A toy is learned, and the ranking loss puts blends below their faces."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from train.augment import Strength
from train.batches import TrainingFaces
from train.blend import blend_faces
from train.checkpoint import load_checkpoint
from train.loop import predict, train
from train.networks import build_network
from train.progress import read_metrics
from train.ranks import Ranks
from train.recipe import Recipe

STILL = Strength(shift=0.0, flip=False)


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
