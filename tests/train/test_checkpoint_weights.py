"""Weights to start from: a checkpoint's, torchvision's, and files that are neither."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from calib.errors import RankotomError
from train.checkpoint import load_weights, save_checkpoint
from train.loop import build_optimizer
from train.networks import NetworkName, build_network
from train.recipe import find_recipe


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
        method={"thresholds": torch.zeros(8)},
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


class RunsCode:
    """What a .pth from anywhere may hold: code that runs when it is read."""

    ran = False

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("import train.checkpoint; train.checkpoint.FORMAT = 'taken over'",)


def test_a_pth_that_would_run_code_is_refused_and_does_not_run(tmp_path: Path) -> None:
    import train.checkpoint

    path = tmp_path / "resnet18.pth"
    torch.save({"conv1.weight": RunsCode()}, path)
    with pytest.raises(RankotomError, match="cannot be read as weights"):
        load_weights(path, build_network("edge-narrow", channels=1, classes=8, dropout=0.0))
    assert train.checkpoint.FORMAT == "1"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"not weights at all", "cannot be read as weights"),
        (None, "Cannot read .*No such file"),
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
