"""Runs are reproducible bit for bit, also when they are killed and resumed."""

import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from calib.errors import RankotomError
from train.batches import TrainingFaces
from train.checkpoint import load_checkpoint
from train.loop import train, update_average
from train.methods.registry import METHODS
from train.methods.settings import MethodName, ScnSettings
from train.progress import read_metrics
from train.ranks import Ranks
from train.recipe import Recipe

RELABELLING = ScnSettings(relabel_from=0.0, relabel_margin=0.0)  # from the first epoch on


def weights(run: Path) -> dict[str, Tensor]:
    return load_checkpoint(run / "checkpoint.safetensors").tensors


def same(first: Path, second: Path) -> bool:
    ours, theirs = weights(first), weights(second)
    return ours.keys() == theirs.keys() and all(torch.equal(ours[key], theirs[key]) for key in ours)


def rows_without_time(run: Path) -> list[dict[str, str]]:
    return [{key: row[key] for key in row if key != "seconds"} for row in read_metrics(run)]


def test_two_runs_of_a_seed_end_with_the_same_bits(
    finished: Path, recipe: Recipe, faces: TrainingFaces, alone: Ranks, tmp_path: Path
) -> None:
    torch.manual_seed(99)  # independent of what was drawn before
    train(replace(recipe, epochs=3), faces, tmp_path, alone)
    assert same(finished, tmp_path)
    assert rows_without_time(finished) == rows_without_time(tmp_path)


def test_another_seed_gives_other_weights(
    finished: Path, recipe: Recipe, faces: TrainingFaces, alone: Ranks, tmp_path: Path
) -> None:
    train(replace(recipe, epochs=3, seed=1), faces, tmp_path, alone)
    ours, theirs = weights(finished), weights(tmp_path)
    assert not torch.equal(ours["network.conv1.weight"], theirs["network.conv1.weight"])


# Python that makes the training process kill itself at a given moment.
DIE = "import os, signal; die = lambda: os.kill(os.getpid(), signal.SIGKILL)\n"
DIE_AT_STEP = (
    DIE
    + """
import train.loop
steps, real = 0, train.loop.update_average
def update_average(*given):
    global steps
    real(*given)
    steps += 1
    if steps == {step}: die()
train.loop.update_average = update_average
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


def test_a_run_killed_twice_ends_with_the_same_bits_as_one_that_was_not(
    finished: Path,
    recipe: Recipe,
    faces: TrainingFaces,
    alone: Ranks,
    tmp_path: Path,
    start_training: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    epochs_done = []
    for prelude in (
        DIE_AT_STEP.format(step=6),  # of four steps per epoch: in the middle of the second
        DIE_BEFORE_THE_CHECKPOINT_IS_IN_PLACE,  # the second epoch is only in metrics.csv
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


def test_a_run_with_damaged_faces_and_ranking_by_targets_resumes_with_the_same_bits(
    recipe: Recipe,
    faces: TrainingFaces,
    alone: Ranks,
    tmp_path: Path,
    start_training: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    changes: dict[str, Any] = {"ranking": "targets", "face_recognition": False, "damaged": 0.5}
    train(replace(recipe, **changes), faces, tmp_path / "whole", alone)
    died = start_training(tmp_path / "killed", changes, DIE_AT_STEP.format(step=6))
    assert died.returncode == -signal.SIGKILL, died.stderr
    train(replace(recipe, **changes), faces, tmp_path / "killed", alone)
    assert same(tmp_path / "whole", tmp_path / "killed")
    changed = replace(recipe, **changes | {"ranking": "fixed"})
    train(changed, faces, tmp_path / "fixed", alone)
    assert not same(tmp_path / "whole", tmp_path / "fixed")


@pytest.mark.parametrize("method", METHODS)
def test_a_run_of_any_method_that_is_stopped_in_an_epoch_resumes_with_the_same_bits(
    method: MethodName,
    recipe: Recipe,
    faces: TrainingFaces,
    alone: Ranks,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe = replace(recipe, method=method, scn=RELABELLING)
    train(recipe, faces, tmp_path / "whole", alone)
    steps = iter(range(5))

    def stop(*given: Any) -> None:
        if next(steps, None) is None:  # the second step of the second epoch
            raise KeyboardInterrupt
        update_average(*given)

    with monkeypatch.context() as patch:
        patch.setattr("train.loop.update_average", stop)
        with pytest.raises(KeyboardInterrupt):
            train(recipe, faces, tmp_path / "stopped", alone)
    assert load_checkpoint(tmp_path / "stopped" / "checkpoint.safetensors").epoch == 1
    torch.manual_seed(99)
    train(recipe, faces, tmp_path / "stopped", alone)
    assert same(tmp_path / "whole", tmp_path / "stopped")
    assert rows_without_time(tmp_path / "whole") == rows_without_time(tmp_path / "stopped")


def test_a_run_that_is_killed_after_scn_changed_labels_ends_with_the_same_bits(
    recipe: Recipe,
    faces: TrainingFaces,
    alone: Ranks,
    tmp_path: Path,
    start_training: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    settings = (
        "import __main__; from dataclasses import replace\n"
        "from train.methods.settings import ScnSettings\n"
        f"__main__.BASE = replace(__main__.BASE, method='scn', scn={RELABELLING})\n"
    )
    died = start_training(tmp_path / "killed", {}, settings + DIE_AT_STEP.format(step=6))
    assert died.returncode == -signal.SIGKILL, died.stderr
    changed = weights(tmp_path / "killed")["labels"]
    assert not torch.equal(changed, torch.from_numpy(faces.labels))
    recipe = replace(recipe, method="scn", scn=RELABELLING)
    train(recipe, faces, tmp_path / "killed", alone)
    train(recipe, faces, tmp_path / "whole", alone)
    assert same(tmp_path / "whole", tmp_path / "killed")
    # What the next epoch learns depends on them.
    kept = replace(recipe, scn=replace(RELABELLING, relabel_from=1.0))
    train(kept, faces, tmp_path / "kept", alone)
    ours, theirs = weights(tmp_path / "whole"), weights(tmp_path / "kept")
    assert not torch.equal(ours["network.fc.weight"], theirs["network.fc.weight"])


def test_a_finished_run_is_not_changed(
    finished: Path, recipe: Recipe, faces: TrainingFaces, alone: Ranks
) -> None:
    before = (finished / "checkpoint.safetensors").read_bytes()
    path = train(replace(recipe, epochs=3), faces, finished, alone)
    assert path.read_bytes() == before
    assert len(read_metrics(finished)) == 3


def test_a_run_starts_from_the_given_weights(
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
