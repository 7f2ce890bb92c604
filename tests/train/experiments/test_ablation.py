"""What the variants differ in, and the table of their results."""

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch

from calib.emotions import EMOTIONS
from train.batches import TrainingFaces
from train.data.datasets import FaceSet
from train.experiments.ablation import (
    BASE,
    DEPARTURES,
    VARIANTS,
    RunResult,
    cell_text,
    draw_plot,
    markdown_table,
    measure,
    variant_recipe,
)
from train.loop import train
from train.ranks import Ranks


def result_of(variant: str, seed: int, accuracy: float) -> RunResult:
    return RunResult(variant, seed, accuracy, 0.1, 0.11, 0.2, 0.9, 0.5, 0.75)


def test_each_variant_adds_one_part_of_the_paper() -> None:
    recipes = [replace(BASE, **parts) for parts in VARIANTS.values()]
    parts = [
        (recipe.loss, recipe.blends, recipe.ranking_weight > 0, recipe.face_recognition)
        for recipe in recipes
    ]
    assert parts == [
        ("cross-entropy", False, False, False),
        ("focal", False, False, False),
        ("focal", True, False, False),
        ("focal", True, True, False),
        ("focal", True, True, True),
    ]
    assert len({(recipe.epochs, recipe.batch, recipe.network) for recipe in recipes}) == 1


def test_each_departure_changes_one_setting_or_adds_the_papers_parts() -> None:
    plain, *others = (asdict(replace(BASE, **parts)) for parts in DEPARTURES.values())
    changed = [{key for key in plain if plain[key] != other[key]} for other in others]
    parts = {
        "blends",
        "ranking_weight",
        "face_recognition",
        "partners",
        "partners_from",
        "pseudo_targets",
    }
    assert changed == [
        {"targets"},
        {"optimizer", "weight_decay"},
        {"ema"},
        {"strength"},
        {"dropout"},
        {"batch"},
        {"schedule", "learning_rate"},
        parts,
        parts,
    ]
    by_name = {name: replace(BASE, **each) for name, each in DEPARTURES.items()}
    eighth, tenth = (by_name[name] for name in list(by_name)[-2:])
    assert replace(eighth, ranking_weight=0.1) == tenth


def test_variants_that_continue_do_so_at_one_rate_and_with_blends_at_once() -> None:
    for parts in VARIANTS.values():
        from_scratch, continued = (
            variant_recipe(parts, 1, 3),
            variant_recipe(parts, 1, 3, continued=True),
        )
        assert from_scratch == replace(BASE, seed=1, epochs=3, **parts)
        assert continued == replace(from_scratch, learning_rate=5e-4, partners_from=0.0)


def test_a_cell_has_the_mean_and_the_spread_over_seeds() -> None:
    assert cell_text([0.70, 0.74], "accuracy") == "72.0 (70.0 to 74.0)"
    assert cell_text([0.9, 1.0], "nll") == "0.950 (0.900 to 1.000)"


def test_the_table_has_a_row_for_each_variant_that_was_run(tmp_path: Path) -> None:
    runs = [result_of("focal", 0, 0.7), result_of("focal", 1, 0.8), result_of("Rank-O-ToM", 0, 0.9)]
    lines = markdown_table(runs).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| focal", "| Rank-O-ToM"]
    assert "75.0 (70.0 to 80.0)" in lines[2]
    draw_plot(runs, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_is_measured_from_its_checkpoint(tmp_path: Path, alone: Ranks) -> None:
    random = np.random.default_rng(0)
    count, size = 16, 16
    pixels = random.integers(0, 256, (count, 1, size, size), dtype=np.uint8)
    labels = np.arange(count) % len(EMOTIONS)
    votes = np.eye(len(EMOTIONS))[labels] * 6 + np.eye(len(EMOTIONS))[(labels + 1) % 8] * 4
    faces = TrainingFaces(
        classes=EMOTIONS,
        fer=pixels,
        labels=labels,
        targets=np.eye(len(EMOTIONS), dtype=np.float32)[labels],
        fr=pixels,
        choose=pixels,
        choose_labels=labels,
    )
    recipe = replace(BASE, size=size, batch=8, epochs=1, seed=3)
    checkpoint = train(recipe, faces, tmp_path, alone)
    report = FaceSet(
        "made/report", tuple(map(Path, map(str, range(count)))), EMOTIONS, labels, votes
    )
    result = measure("Rank-O-ToM", recipe, checkpoint, report, pixels)
    assert (result.variant, result.seed) == ("Rank-O-ToM", 3)
    assert all(0 <= value <= 1 for value in (result.accuracy, result.ece, result.rank_order))
    assert result.nll > 0
    assert torch.isfinite(torch.tensor(result.top2_match))
