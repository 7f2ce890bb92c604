"""bfloat16 on a CPU: nearly the same losses, and only on a CPU that has it."""

import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from calib.errors import RankotomError
from train.batches import TrainingFaces
from train.checkpoint import load_checkpoint
from train.loop import train
from train.progress import read_metrics
from train.ranks import Ranks
from train.recipe import Recipe, override_recipe


def test_a_run_in_bfloat16_learns_the_same_and_keeps_its_weights_in_float32(
    finished: Path, tmp_path: Path, start_training: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    done = start_training(tmp_path, {"epochs": 3, "bfloat16": True})
    if done.returncode == -signal.SIGILL:
        pytest.skip("this machine announces instructions that it does not have (AMX)")
    if "This CPU has no bfloat16" in done.stderr:
        pytest.skip("this CPU has no bfloat16")
    assert done.returncode == 0, done.stderr
    losses = [[float(row["loss"]) for row in read_metrics(run)] for run in (finished, tmp_path)]
    assert losses[1][:2] == pytest.approx(losses[0][:2], rel=0.1)
    # Thresholds of the second epoch: a face that just passes in one run may just fail in the other.
    assert losses[1][2] == pytest.approx(losses[0][2], rel=0.2)
    assert losses[1] != losses[0]
    weights = load_checkpoint(tmp_path / "checkpoint.safetensors").weights
    assert {each.dtype for each in weights.values()} <= {torch.float32, torch.int64}


def test_a_cpu_without_bfloat16_is_an_error_before_training(
    recipe: Recipe,
    faces: TrainingFaces,
    alone: Ranks,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": True})
    with pytest.raises(RankotomError, match=r"no bfloat16.*Leave --bfloat16 out"):
        train(replace(recipe, bfloat16=True), faces, tmp_path, alone)
    assert not list(tmp_path.iterdir())


def test_bfloat16_is_a_setting_of_the_recipe_so_that_a_resumed_run_keeps_it(recipe: Recipe) -> None:
    assert override_recipe(recipe, bfloat16=True).bfloat16
    assert override_recipe(replace(recipe, bfloat16=True), bfloat16=None).bfloat16
    assert not override_recipe(recipe, bfloat16=None, epochs=None).bfloat16
    assert override_recipe(recipe, epochs=7, seed=None) == replace(recipe, epochs=7)
