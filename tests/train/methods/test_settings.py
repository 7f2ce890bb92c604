"""The settings are part of a run's recipe: its checkpoint holds them, and refuses others."""

from dataclasses import replace
from pathlib import Path

import pytest

from calib.errors import RankotomError
from train.batches import TrainingFaces
from train.checkpoint import load_checkpoint, write_checkpoint
from train.loop import train
from train.methods.settings import ScnSettings
from train.ranks import Ranks
from train.recipe import Recipe


def test_a_run_with_other_settings_is_not_continued(
    finished: Path, recipe: Recipe, faces: TrainingFaces, alone: Ranks
) -> None:
    other = replace(recipe, epochs=3, scn=ScnSettings(relabel="all"))
    with pytest.raises(RankotomError, match="has another recipe, with scn"):
        train(other, faces, finished, alone)


def test_a_setting_that_is_newer_than_the_checkpoint_had_its_default(
    recipe: Recipe, faces: TrainingFaces, alone: Ranks, tmp_path: Path
) -> None:
    path = train(replace(recipe, epochs=1), faces, tmp_path, alone)
    old = load_checkpoint(path)
    del old.recipe["scn"]["margin"], old.recipe["mbls"], old.recipe["strength"]["darkest"]
    write_checkpoint(path, old.recipe, old.epoch, old.tensors)
    train(replace(recipe, epochs=1), faces, tmp_path, alone)


def test_a_checkpoint_says_which_of_two_published_versions_a_run_follows(finished: Path) -> None:
    kept = load_checkpoint(finished / "checkpoint.safetensors").recipe
    assert (kept["eac"]["erase"], kept["rac"]["class_weights"]) == ("together", "normalised")
    assert kept["scn"]["relabel"] == "low"
