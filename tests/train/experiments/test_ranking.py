"""What ranking costs is measured against the same run without it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from rich.console import Console

from calib.emotions import EMOTIONS
from train.augment import scale_pixels
from train.batches import TrainingFaces
from train.experiments.ranking import (
    BASE,
    NO_RANKING,
    VARIANTS,
    RankingResult,
    learn_face_temperature,
    results_table,
)
from train.loop import train
from train.ranks import Ranks


def row(results: Sequence[RankingResult], variant: str) -> list[str]:
    console = Console(width=160)
    with console.capture() as capture:
        console.print(results_table(results))
    line = next(line for line in capture.get().splitlines() if line.startswith(variant))
    return line.removeprefix(variant).split()


def test_a_variant_is_compared_with_the_run_of_its_own_seed() -> None:
    results = [
        RankingResult(NO_RANKING, 0, 0.80, 0.5, 0.7, 0.6),
        RankingResult("RankMixup", 0, 0.81, 0.5, 0.9, 0.8),
        RankingResult(NO_RANKING, 1, 0.84, 0.5, 0.7, 0.6),
        RankingResult("RankMixup", 1, 0.82, 0.4, 0.95, 0.8),
    ]
    shown = [cell for cell in row(results, "RankMixup") if cell != "%"]
    assert shown == ["81.5", "−0.5", "+1.0", "−2.0", "0.450", "92.5", "80.0"]


def test_only_the_first_variant_has_no_ranking_and_all_have_blends() -> None:
    weights = {
        name: parts.get("ranking_weight", BASE.ranking_weight) for name, parts in VARIANTS.items()
    }
    assert [name for name, weight in weights.items() if weight == 0] == [NO_RANKING]
    assert BASE.blends
    assert not BASE.damaged


def test_a_temperature_for_each_face_changes_confidence_and_no_answer(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    pixels = random.integers(0, 255, (32, 1, 48, 48), np.uint8)
    labels = random.integers(0, len(EMOTIONS), 32)
    targets = np.eye(len(EMOTIONS), dtype=np.float32)[labels]
    faces = TrainingFaces(EMOTIONS, pixels, labels, targets, None, pixels, labels)
    recipe = replace(BASE, batch=32, epochs=1, partners=0.0, blends=False, ranking_weight=0.0)
    train(recipe, faces, tmp_path, Ranks(0, 1, torch.device("cpu")))
    network = learn_face_temperature(recipe, faces, tmp_path)
    with torch.no_grad():
        shown = scale_pixels(torch.from_numpy(pixels))
        scaled, plain = network(shown), network.get_submodule("network")(shown)
    ratio = plain / scaled
    torch.testing.assert_close(ratio, ratio[:, :1].expand_as(ratio))
    assert ratio.min() > 1
    assert ratio.std() > 0
