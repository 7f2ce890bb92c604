"""The average of runs that continued from each other."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from calib.errors import RankotomError
from train.batches import TrainingFaces
from train.checkpoint import load_checkpoint, load_weights
from train.loop import predict, train
from train.networks import build_network
from train.ranks import Ranks
from train.recipe import Recipe
from train.weight_average import average_runs


@pytest.fixture(scope="module")
def second(
    tmp_path_factory: pytest.TempPathFactory,
    recipe: Recipe,
    faces: TrainingFaces,
    finished: Path,
    alone: Ranks,
) -> Path:
    """A run that continued from the finished one."""
    run = tmp_path_factory.mktemp("second") / "run"
    weights = finished / "checkpoint.safetensors"
    train(replace(recipe, name="second", seed=1), faces, run, alone, weights)
    return run


def network_of(run: Path, recipe: Recipe, faces: TrainingFaces) -> torch.nn.Module:
    network = build_network(recipe.network, channels=1, classes=len(faces.classes), dropout=0.0)
    network.load_state_dict(load_checkpoint(run / "checkpoint.safetensors").weights)
    return network.eval()


def test_weights_are_the_mean_and_batch_statistics_are_measured_again(
    finished: Path, second: Path, faces: TrainingFaces, tmp_path: Path
) -> None:
    average_runs([finished, second], tmp_path, faces.fer, len(faces.classes))
    one, other, mean = (
        load_checkpoint(run / "checkpoint.safetensors").weights
        for run in (finished, second, tmp_path)
    )
    for key in ("conv1.weight", "layer3.0.bn1.bias", "fc.weight"):
        torch.testing.assert_close(mean[key], (one[key] + other[key]) / 2)
    pixels = torch.from_numpy(faces.fer) / 127.5 - 1
    maps = torch.nn.functional.conv2d(pixels, mean["conv1.weight"], stride=2, padding=1)
    torch.testing.assert_close(
        mean["bn1.running_mean"], maps.mean(dim=(0, 2, 3)), atol=1e-4, rtol=1e-3
    )
    torch.testing.assert_close(
        mean["bn1.running_var"], maps.var(dim=(0, 2, 3)), atol=1e-4, rtol=1e-2
    )


def test_an_average_keeps_the_accuracy_of_its_runs_and_their_recipes(
    finished: Path, second: Path, recipe: Recipe, faces: TrainingFaces, tmp_path: Path
) -> None:
    output = tmp_path / "average"
    average_runs([finished, second], output, faces.fer, len(faces.classes))
    logits = predict(
        network_of(output, recipe, faces), faces.choose, recipe.size, torch.device("cpu")
    )
    right = (logits.argmax(dim=1).numpy() == faces.choose_labels).mean()
    alone = predict(
        network_of(second, recipe, faces), faces.choose, recipe.size, torch.device("cpu")
    )
    assert right >= (alone.argmax(dim=1).numpy() == faces.choose_labels).mean() - 0.1
    checkpoint = load_checkpoint(output / "checkpoint.safetensors")
    assert checkpoint.recipe["name"] == "average"
    assert [run["name"] for run in checkpoint.recipe["runs"]] == ["toy", "second"]
    assert checkpoint.epoch == 5
    assert not torch.isnan(logits).any()


def test_a_run_can_continue_from_an_average(
    finished: Path, second: Path, recipe: Recipe, faces: TrainingFaces, tmp_path: Path
) -> None:
    average_runs([finished, second], tmp_path, faces.fer, len(faces.classes))
    network = build_network(recipe.network, channels=1, classes=len(faces.classes), dropout=0.0)
    load_weights(tmp_path / "checkpoint.safetensors", network)
    mean = load_checkpoint(tmp_path / "checkpoint.safetensors").weights
    assert torch.equal(network.state_dict()["conv1.weight"], mean["conv1.weight"])


def test_runs_of_two_networks_are_not_averaged(
    finished: Path, recipe: Recipe, faces: TrainingFaces, alone: Ranks, tmp_path: Path
) -> None:
    wider = replace(recipe, network="edge", epochs=1)
    train(wider, faces, tmp_path / "wider", alone)
    with pytest.raises(RankotomError, match="wider has network edge, and the first run edge-narr"):
        average_runs(
            [finished, tmp_path / "wider"], tmp_path / "out", faces.fer, len(faces.classes)
        )
    assert not (tmp_path / "out").exists()


def test_a_training_run_is_not_overwritten_but_an_average_is(
    finished: Path, second: Path, faces: TrainingFaces, tmp_path: Path
) -> None:
    before = (second / "checkpoint.safetensors").read_bytes()
    with pytest.raises(RankotomError, match="holds a training run"):
        average_runs([finished, second], second, faces.fer, len(faces.classes))
    assert (second / "checkpoint.safetensors").read_bytes() == before
    for _ in range(2):
        average_runs([finished, second], tmp_path / "average", faces.fer, len(faces.classes))


def test_as_a_command_bad_input_ends_in_one_line(tmp_path: Path) -> None:
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
    assert "cannot be read as a checkpoint" in done.stderr
    assert done.stderr.count("\n") == 1
