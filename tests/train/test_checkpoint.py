"""A run's state on disk: written atomically, and restored only for its own recipe."""

import json
import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from calib.errors import RankotomError
from train.batches import TrainingFaces
from train.checkpoint import load_checkpoint, save_checkpoint, write_checkpoint
from train.loop import build_optimizer, train
from train.ranks import Ranks
from train.recipe import Recipe


def save(path: Path, recipe: Recipe, epoch: int = 1, width: int = 4) -> nn.Module:
    network = nn.Linear(width, 2)
    optimizer = build_optimizer(recipe, network)
    network(torch.ones(1, width)).sum().backward()
    optimizer.step()
    save_checkpoint(
        path,
        recipe=recipe,
        epoch=epoch,
        network=network,
        averaged=network,
        optimizer=optimizer,
        method={"thresholds": torch.tensor([0.5, 0.95], dtype=torch.float64)},
    )
    return network


def test_a_checkpoint_gives_back_what_was_saved(tmp_path: Path, recipe: Recipe) -> None:
    path = tmp_path / "checkpoint.safetensors"
    network = save(path, recipe, epoch=7)
    checkpoint = load_checkpoint(path)
    assert checkpoint.epoch == 7
    assert checkpoint.recipe == json.loads(recipe.as_json())
    assert checkpoint.method["thresholds"].tolist() == [0.5, 0.95]
    assert checkpoint.weights.keys() == {"weight", "bias"}
    assert torch.equal(checkpoint.weights["weight"], network.state_dict()["weight"])
    assert {"0.exp_avg", "0.exp_avg_sq", "0.step"} <= checkpoint.group("optimizer").keys()


def test_a_checkpoint_is_plain_safetensors_and_alone_in_its_folder(finished: Path) -> None:
    assert sorted(file.name for file in finished.iterdir()) == [
        "checkpoint.safetensors",
        "metrics.csv",
        "recipe.json",
    ]
    assert "network.conv1.weight" in load_file(finished / "checkpoint.safetensors")


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_write_that_fails_half_way_leaves_the_previous_checkpoint_intact(
    tmp_path: Path, recipe: Recipe
) -> None:
    path = tmp_path / "checkpoint.safetensors"
    save(path, recipe, epoch=1)
    before = path.read_bytes()
    with (
        pytest.raises(RankotomError, match="epoch 2 cannot be written") as error,
        files_of_at_most(100_000),
    ):
        save(path, recipe, epoch=2, width=200_000)
    assert f"The previous one is intact: {path}" in str(error.value)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_a_clear_error_and_no_checkpoint_is_lost(
    small_disk: Path, recipe: Recipe
) -> None:
    path = small_disk / "checkpoint.safetensors"
    save(path, recipe, epoch=1)
    before = path.read_bytes()
    with pytest.raises(RankotomError, match=r"epoch 2 cannot be written.*intact.*Free some space"):
        save(path, recipe, epoch=2, width=200_000)
    assert path.read_bytes() == before
    assert load_checkpoint(path).epoch == 1


def test_a_folder_that_is_gone_is_a_clear_error(tmp_path: Path, recipe: Recipe) -> None:
    with pytest.raises(RankotomError, match=r"epoch 1 cannot be written to .*gone"):
        save(tmp_path / "gone" / "checkpoint.safetensors", recipe)


def test_a_truncated_checkpoint_is_a_clear_error(tmp_path: Path, recipe: Recipe) -> None:
    path = tmp_path / "checkpoint.safetensors"
    save(path, recipe)
    os.truncate(path, path.stat().st_size - 10)
    with pytest.raises(RankotomError, match="cannot be read as a checkpoint"):
        load_checkpoint(path)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"format": "1"}])
def test_safetensors_of_other_programs_are_a_clear_error(
    tmp_path: Path, metadata: dict[str, str] | None
) -> None:
    path = tmp_path / "checkpoint.safetensors"
    save_file({"thresholds": torch.zeros(2)}, path, metadata)
    with pytest.raises(RankotomError, match="is not a checkpoint"):
        load_checkpoint(path)


def test_a_checkpoint_of_another_recipe_is_refused_with_what_differs(
    finished: Path, recipe: Recipe, faces: TrainingFaces, alone: Ranks
) -> None:
    before = (finished / "checkpoint.safetensors").read_bytes()
    other = replace(recipe, epochs=3, learning_rate=0.1, loss="cross-entropy")
    with pytest.raises(RankotomError) as refused:
        train(other, faces, finished, alone)
    assert "learning_rate 0.002 (not 0.1), loss focal (not cross-entropy)" in str(refused.value)
    assert "epochs" not in str(refused.value)
    assert "--run" in str(refused.value)
    assert (finished / "checkpoint.safetensors").read_bytes() == before
    assert json.loads((finished / "recipe.json").read_text())["loss"] == "focal"


def test_an_older_checkpoint_resumes_with_the_default_of_a_newer_setting(
    finished: Path, recipe: Recipe, faces: TrainingFaces, alone: Ranks, tmp_path: Path
) -> None:
    known = load_checkpoint(finished / "checkpoint.safetensors")
    older = {key: value for key, value in known.recipe.items() if key != "ranking_margin"}
    older["strength"] = {key: value for key, value in older["strength"].items() if key != "darkest"}
    write_checkpoint(tmp_path / "checkpoint.safetensors", older, known.epoch, known.tensors)
    shutil.copy(finished / "metrics.csv", tmp_path)
    train(replace(recipe, epochs=3), faces, tmp_path, alone)
    with pytest.raises(RankotomError, match=r"ranking_margin 0.2 \(not 0.3\)"):
        train(replace(recipe, epochs=3, ranking_margin=0.3), faces, tmp_path, alone)


def test_an_older_checkpoint_gives_a_renamed_setting_by_its_new_name(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    write_checkpoint(path, {"name": "toy", "spoiled": 0.5}, 1, {})
    assert load_checkpoint(path).recipe == {"name": "toy", "damaged": 0.5}


def test_a_checkpoint_with_other_tensors_is_a_clear_error(
    tmp_path: Path, recipe: Recipe, faces: TrainingFaces, alone: Ranks
) -> None:
    save(tmp_path / "checkpoint.safetensors", recipe)
    with pytest.raises(RankotomError, match="has the recipe of this run but other tensors"):
        train(recipe, faces, tmp_path, alone)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("epoch", "-1"), ("epoch", "1e999"), ("epoch", "many"), ("epoch", "[" * 100_000),
        ("epoch", "9" * 5000), ("recipe", "[]"), ("recipe", "null"), ("recipe", "{"),
        ("recipe", "[" * 100_000), ("recipe", '{"name":"x","channels":2}'),
        ("recipe", '{"name":"x","channels":"3"}'), ("recipe", '{"name":"x","size":1e9}'),
        ("recipe", '{"name":"x","size":-1}'), ("recipe", '{"name":"x","network":"resnet9000"}'),
        ("recipe", '{"name":"x","dataset":["ferplus"]}'), ("recipe", '{"name":"\\u001b[31m"}'),
        ("recipe", '{"name":7}'), ("recipe", '{"name":"x","method":{}}'), ("format", "9" * 5000),
    ],
)  # fmt: skip
def test_broken_metadata_are_one_short_error(tmp_path: Path, key: str, value: str) -> None:
    path = tmp_path / "checkpoint.safetensors"
    whole = {"format": "1", "epoch": "3", "recipe": '{"name":"x"}'}
    save_file({"averaged.fc.bias": torch.zeros(2)}, path, {**whole, key: value})
    with pytest.raises(RankotomError, match="is not a checkpoint") as refused:
        load_checkpoint(path)
    assert len(str(refused.value)) < 1100
