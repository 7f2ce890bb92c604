"""Runs that went on from one another, as one model."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from calib.errors import RankotomError
from train.batches import TrainingFaces
from train.checkpoint import load_checkpoint, load_weights
from train.loop import predict, train
from train.networks import build_network
from train.ranks import Ranks
from train.recipe import Recipe
from train.weight_average import mean_weights, measure_statistics, soup


@pytest.fixture(scope="module")
def second(
    tmp_path_factory: pytest.TempPathFactory,
    recipe: Recipe,
    faces: TrainingFaces,
    finished: Path,
    alone: Ranks,
) -> Path:
    """A run that went on from the finished one."""
    run = tmp_path_factory.mktemp("second") / "run"
    weights = finished / "checkpoint.safetensors"
    train(replace(recipe, name="second", seed=1), faces, run, alone, weights)
    return run


def network_of(run: Path, recipe: Recipe, faces: TrainingFaces) -> torch.nn.Module:
    network = build_network(recipe.network, channels=1, classes=len(faces.classes), dropout=0.0)
    network.load_state_dict(load_checkpoint(run / "checkpoint.safetensors").weights)
    return network.eval()


def test_weights_are_averaged_and_counts_are_not() -> None:
    one = {"weight": torch.tensor([1.0, 2.0]), "count": torch.tensor(3)}
    other = {"weight": torch.tensor([3.0, 6.0]), "count": torch.tensor(5)}
    mean = mean_weights([one, other])
    assert mean["weight"].tolist() == [2.0, 4.0]
    assert mean["count"].item() == 3


def test_statistics_are_those_of_the_faces_as_they_are() -> None:
    norm = torch.nn.BatchNorm2d(1)
    faces = np.random.default_rng(0).integers(0, 256, (512, 1, 4, 4), dtype=np.uint8)
    measure_statistics(torch.nn.Sequential(norm), faces)
    scaled = faces / 127.5 - 1
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.running_mean.item() == pytest.approx(scaled.mean(), abs=1e-5)
    assert norm.running_var.item() == pytest.approx(scaled.var(), rel=1e-2)


def test_a_soup_knows_what_its_runs_know_and_says_which_they_were(
    finished: Path, second: Path, recipe: Recipe, faces: TrainingFaces, tmp_path: Path
) -> None:
    output = tmp_path / "mixed"
    soup([finished, second], output, faces.fer, len(faces.classes))
    logits = predict(
        network_of(output, recipe, faces), faces.choose, recipe.size, torch.device("cpu")
    )
    right = (logits.argmax(dim=1).numpy() == faces.choose_labels).mean()
    alone = predict(
        network_of(second, recipe, faces), faces.choose, recipe.size, torch.device("cpu")
    )
    assert right >= (alone.argmax(dim=1).numpy() == faces.choose_labels).mean() - 0.1
    checkpoint = load_checkpoint(output / "checkpoint.safetensors")
    assert checkpoint.recipe["name"] == "mixed"
    assert [run["name"] for run in checkpoint.recipe["runs"]] == ["toy", "second"]
    assert checkpoint.epoch == 5
    assert not torch.isnan(logits).any()


def test_a_run_goes_on_from_a_soup(
    finished: Path, second: Path, recipe: Recipe, faces: TrainingFaces, tmp_path: Path
) -> None:
    soup([finished, second], tmp_path, faces.fer, len(faces.classes))
    network = build_network(recipe.network, channels=1, classes=len(faces.classes), dropout=0.0)
    load_weights(tmp_path / "checkpoint.safetensors", network)
    mixed = load_checkpoint(tmp_path / "checkpoint.safetensors").weights
    assert torch.equal(network.state_dict()["conv1.weight"], mixed["conv1.weight"])


def test_runs_of_two_networks_are_not_averaged(
    finished: Path, recipe: Recipe, faces: TrainingFaces, alone: Ranks, tmp_path: Path
) -> None:
    wider = replace(recipe, network="edge", epochs=1)
    train(wider, faces, tmp_path / "wider", alone)
    with pytest.raises(RankotomError, match="wider has network edge, and the first run edge-narr"):
        soup([finished, tmp_path / "wider"], tmp_path / "out", faces.fer, len(faces.classes))
    assert not (tmp_path / "out").exists()


def test_a_training_run_is_not_written_over_and_a_soup_may_be(
    finished: Path, second: Path, faces: TrainingFaces, tmp_path: Path
) -> None:
    before = (second / "checkpoint.safetensors").read_bytes()
    with pytest.raises(RankotomError, match="holds a training run"):
        soup([finished, second], second, faces.fer, len(faces.classes))
    assert (second / "checkpoint.safetensors").read_bytes() == before
    for _ in range(2):
        soup([finished, second], tmp_path / "mixed", faces.fer, len(faces.classes))


def test_as_a_command_bad_input_is_told_in_a_line(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "train.weight_average",
        str(tmp_path),
        "--run",
        str(tmp_path / "out"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "can't be read as a checkpoint" in done.stderr
    assert done.stderr.count("\n") == 1
