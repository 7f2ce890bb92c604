"""A run's state on disk: whole or not at all, and only for the recipe that it is of."""

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from calib.errors import RankotomError
from train.batches import TrainingFaces
from train.checkpoint import (
    load_checkpoint,
    load_weights,
    save_checkpoint,
    write_checkpoint,
)
from train.loop import build_optimizer, train
from train.networks import NetworkName, build_network
from train.ranks import Ranks
from train.recipe import Recipe, find_recipe


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
        thresholds=torch.tensor([0.5, 0.95], dtype=torch.float64),
    )
    return network


def test_a_checkpoint_gives_back_what_was_saved(tmp_path: Path, recipe: Recipe) -> None:
    path = tmp_path / "checkpoint.safetensors"
    network = save(path, recipe, epoch=7)
    checkpoint = load_checkpoint(path)
    assert checkpoint.epoch == 7
    assert checkpoint.recipe == json.loads(recipe.as_json())
    assert checkpoint.thresholds.tolist() == [0.5, 0.95]
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


def test_a_write_that_fails_half_way_leaves_the_checkpoint_from_before_whole(
    tmp_path: Path, recipe: Recipe
) -> None:
    path = tmp_path / "checkpoint.safetensors"
    save(path, recipe, epoch=1)
    before = path.read_bytes()
    with (
        pytest.raises(RankotomError, match="epoch 2 can't be written") as error,
        files_of_at_most(100_000),
    ):
        save(path, recipe, epoch=2, width=200_000)
    assert f"The one from before is whole: {path}" in str(error.value)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("a file system of 400 KB can't be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_a_clear_error_and_no_checkpoint_is_lost(
    small_disk: Path, recipe: Recipe
) -> None:
    path = small_disk / "checkpoint.safetensors"
    save(path, recipe, epoch=1)
    before = path.read_bytes()
    with pytest.raises(RankotomError, match=r"epoch 2 can't be written.*whole.*Make room"):
        save(path, recipe, epoch=2, width=200_000)
    assert path.read_bytes() == before
    assert load_checkpoint(path).epoch == 1


def test_a_folder_that_is_gone_is_a_clear_error(tmp_path: Path, recipe: Recipe) -> None:
    with pytest.raises(RankotomError, match=r"epoch 1 can't be written to .*gone"):
        save(tmp_path / "gone" / "checkpoint.safetensors", recipe)


def test_a_truncated_checkpoint_is_a_clear_error(tmp_path: Path, recipe: Recipe) -> None:
    path = tmp_path / "checkpoint.safetensors"
    save(path, recipe)
    os.truncate(path, path.stat().st_size - 10)
    with pytest.raises(RankotomError, match="can't be read as a checkpoint"):
        load_checkpoint(path)


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"format": "1"}])
def test_somebody_elses_safetensors_are_a_clear_error(
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


def test_a_checkpoint_from_before_a_knob_goes_on_with_its_default(
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


def test_a_checkpoint_with_other_tensors_is_a_clear_error(
    tmp_path: Path, recipe: Recipe, faces: TrainingFaces, alone: Ranks
) -> None:
    save(tmp_path / "checkpoint.safetensors", recipe)
    with pytest.raises(RankotomError, match="has the recipe of this run and other tensors"):
        train(recipe, faces, tmp_path, alone)


def torchvision_shapes(name: NetworkName, classes: int = 1000) -> dict[str, tuple[int, ...]]:
    """The state dict of torchvision's ResNets, from their documentation and not from ours."""
    shapes: dict[str, tuple[int, ...]] = {}

    def convolution(key: str, outputs: int, inputs: int, kernel: int) -> None:
        shapes[f"{key}.weight"] = (outputs, inputs, kernel, kernel)

    def batch_norm(key: str, width: int) -> None:
        for part in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{key}.{part}"] = (width,)
        shapes[f"{key}.num_batches_tracked"] = ()

    convolution("conv1", 64, 3, 7)
    batch_norm("bn1", 64)
    depths = (2, 2, 2, 2) if name == "resnet18" else (3, 4, 6, 3)
    inputs = 64
    for layer, (depth, width) in enumerate(zip(depths, (64, 128, 256, 512), strict=True), 1):
        outputs = width if name == "resnet18" else width * 4
        for block in range(depth):
            plan = (
                [(width, inputs, 3), (width, width, 3)]
                if name == "resnet18"
                else [(width, inputs, 1), (width, width, 3), (outputs, width, 1)]
            )
            for number, (after, before, kernel) in enumerate(plan, 1):
                convolution(f"layer{layer}.{block}.conv{number}", after, before, kernel)
                batch_norm(f"layer{layer}.{block}.bn{number}", after)
            if inputs != outputs:
                convolution(f"layer{layer}.{block}.downsample.0", outputs, inputs, 1)
                batch_norm(f"layer{layer}.{block}.downsample.1", outputs)
            inputs = outputs
    shapes["fc.weight"], shapes["fc.bias"] = (classes, inputs), (classes,)
    return shapes


def random_weights(shapes: dict[str, tuple[int, ...]]) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {key: torch.rand(shape, generator=generator) for key, shape in shapes.items()}


@pytest.mark.parametrize(("name", "entries"), [("resnet18", 122), ("resnet50", 320)])
def test_our_resnets_have_torchvisions_names_and_shapes(name: NetworkName, entries: int) -> None:
    network = build_network(name, channels=3, classes=1000, dropout=0.0)
    ours = {key: tuple(value.shape) for key, value in network.state_dict().items()}
    assert len(ours) == entries
    assert ours == torchvision_shapes(name)


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_weights_to_start_from_fill_all_but_the_last_layer(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"resnet18{suffix}"
    given = random_weights(torchvision_shapes("resnet18"))
    if suffix == ".pth":
        torch.save(given, path)
    else:
        save_file(given, path)
    network = build_network("resnet18", channels=3, classes=8, dropout=0.0)
    head = network.fc.weight.detach().clone()
    load_weights(path, network)
    loaded = network.state_dict()
    assert torch.equal(
        loaded["layer2.0.downsample.0.weight"], given["layer2.0.downsample.0.weight"]
    )
    assert torch.equal(loaded["layer4.1.bn2.running_var"], given["layer4.1.bn2.running_var"])
    assert torch.equal(loaded["fc.weight"], head)


def test_a_run_may_start_from_the_averaged_weights_of_another_last_layer_included(
    tmp_path: Path,
) -> None:
    torch.manual_seed(1)
    first, averaged, network = (
        build_network("edge-narrow", channels=1, classes=8, dropout=0.0) for _ in range(3)
    )
    recipe = find_recipe("edge-ferplus")
    save_checkpoint(
        tmp_path / "checkpoint.safetensors",
        recipe=recipe,
        epoch=1,
        network=first,
        averaged=averaged,
        optimizer=build_optimizer(recipe, first),
        thresholds=torch.zeros(8),
    )
    load_weights(tmp_path / "checkpoint.safetensors", network)
    assert all(
        torch.equal(value, averaged.state_dict()[key])
        for key, value in network.state_dict().items()
    )


def test_torchvisions_older_files_without_batch_counts_fit_too(tmp_path: Path) -> None:
    path = tmp_path / "resnet18-5c106cde.pth"
    shapes = torchvision_shapes("resnet18")
    given = random_weights({key: shapes[key] for key in shapes if "tracked" not in key})
    torch.save(given, path)
    network = build_network("resnet18", channels=3, classes=8, dropout=0.0)
    load_weights(path, network)
    assert torch.equal(network.state_dict()["bn1.weight"], given["bn1.weight"])


def test_weights_of_another_network_are_a_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "resnet50.pth"
    torch.save(random_weights(torchvision_shapes("resnet50")), path)
    network = build_network("resnet18", channels=3, classes=8, dropout=0.0)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    with pytest.raises(RankotomError, match=r"does not fit.* of 100 tensors.*layer1\.0"):
        load_weights(path, network)
    assert all(torch.equal(before[key], value) for key, value in network.state_dict().items())


class Unwelcome:
    """What a .pth from anywhere may hold: code that runs when it is read."""

    ran = False

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("import train.checkpoint; train.checkpoint.FORMAT = 'taken over'",)


def test_a_pth_that_would_run_code_is_refused_and_does_not_run(tmp_path: Path) -> None:
    import train.checkpoint

    path = tmp_path / "resnet18.pth"
    torch.save({"conv1.weight": Unwelcome()}, path)
    with pytest.raises(RankotomError, match="can't be read as weights"):
        load_weights(path, build_network("edge-narrow", channels=1, classes=8, dropout=0.0))
    assert train.checkpoint.FORMAT == "1"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "can't be read as weights"),
        (b"not weights at all", "can't be read as weights"),
        (None, "can't be read as weights.*No such file"),
    ],
)
@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
def test_a_file_that_is_no_weights_is_a_clear_error(
    tmp_path: Path, content: bytes | None, message: str, suffix: str
) -> None:
    path = tmp_path / f"weights{suffix}"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RankotomError, match=message) as error:
        load_weights(path, build_network("edge-narrow", channels=1, classes=8, dropout=0.0))
    assert "\n" not in str(error.value)


def test_a_pth_with_more_than_weights_says_what_to_save(tmp_path: Path) -> None:
    path = tmp_path / "training.pth"
    torch.save({"state_dict": {"conv1.weight": torch.zeros(1)}, "epoch": 3}, path)
    with pytest.raises(RankotomError, match=r"state_dict\(\) alone"):
        load_weights(path, build_network("edge-narrow", channels=1, classes=8, dropout=0.0))
