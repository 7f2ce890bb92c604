"""Several runs as one model: the mean of their weights (Wortsman et al. 2022, "Model soups").

    python -m train.weight_average runs/edge-ferplus-seed0 runs/edge-ferplus-2-seed1 --run runs/edge-soup

The runs must go on from one another (``train --weights``), so that their weights lie in one valley
of the loss: the mean is then nearer to its bottom than each of them, and costs what one costs. The
means and variances inside the network don't average like that; they are measured again, on the
training faces as they are.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from torch import Tensor, nn

from calib.errors import RankotomError, exit_on_error
from train.augment import scale_pixels
from train.checkpoint import Checkpoint, load_checkpoint, write_checkpoint
from train.data.crops import load_crops
from train.data.datasets import data_folder, load_dataset
from train.networks import build_network, find_network

AT_ONCE = 256


def soup(runs: Sequence[Path], output: Path, faces: NDArray[np.uint8], classes: int) -> None:
    """Written to ``output`` as a checkpoint that can be exported, or gone on from (--weights)."""
    checkpoints = [load_checkpoint(run / "checkpoint.safetensors") for run in runs]
    check_free(output)
    first = checkpoints[0].recipe
    for run, checkpoint in zip(runs, checkpoints, strict=True):
        check_same_network(run, checkpoint.recipe, first)
    network = build_network(
        find_network(first["network"]), channels=first["channels"], classes=classes, dropout=0.0
    )
    network.load_state_dict(mean_weights([checkpoint.weights for checkpoint in checkpoints]))
    measure_statistics(network, faces)
    output.mkdir(parents=True, exist_ok=True)
    write_checkpoint(
        output / "checkpoint.safetensors",
        recipe_of_all(checkpoints, output.name),
        sum(checkpoint.epoch for checkpoint in checkpoints),
        {f"averaged.{key}": value for key, value in network.state_dict().items()},
    )


def check_free(output: Path) -> None:
    """A soup may be made anew; a training run is hours of work."""
    path = output / "checkpoint.safetensors"
    if path.exists() and "runs" not in load_checkpoint(path).recipe:
        raise RankotomError(f"{output} holds a training run. Choose another folder with --run.")


def check_same_network(run: Path, recipe: dict[str, Any], first: dict[str, Any]) -> None:
    for key in ("network", "size", "channels", "dataset"):
        if recipe[key] != first[key]:
            raise RankotomError(
                f"{run} has {key} {recipe[key]}, and the first run {first[key]}: "
                "only runs of one network on one data set can be averaged."
            )


def recipe_of_all(checkpoints: Sequence[Checkpoint], name: str) -> dict[str, Any]:
    """What an export passes on: the last run's recipe, and beside it all of them."""
    recipes = [checkpoint.recipe for checkpoint in checkpoints]
    return recipes[-1] | {"name": name, "runs": recipes}


def mean_weights(runs: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {
        key: torch.stack([run[key] for run in runs]).mean(dim=0)
        if value.is_floating_point()
        else value  # how many batches a layer has seen; nothing depends on it
        for key, value in runs[0].items()
    }


@torch.no_grad()
def measure_statistics(network: nn.Module, faces: NDArray[np.uint8]) -> None:
    """Each batch norm's mean and variance over all of the faces, as they are."""
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # an even mean over the batches
    network.train()
    for part in np.array_split(faces, max(1, len(faces) // AT_ONCE)):
        network(scale_pixels(torch.from_numpy(np.array(part))))
    network.eval()


def main(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.", exists=True)],
    run: Annotated[Path, typer.Option(help="The folder of what comes out.")],
    data: Annotated[Path | None, typer.Option(help="Folder of the data sets.")] = None,
) -> None:
    """Average the weights of runs that went on from one another."""
    folder = data_folder(data)
    recipe = load_checkpoint(runs[0] / "checkpoint.safetensors").recipe
    train = load_dataset(recipe["dataset"], folder, "train")
    faces = load_crops(train, recipe["size"], recipe["channels"], None, folder / "framed")
    soup(runs, run, faces, len(train.classes))
    print(run / "checkpoint.safetensors")


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
