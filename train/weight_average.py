"""Average the weights of several runs into one model (Wortsman et al. 2022, "Model soups").

    python -m train.weight_average runs/edge-ferplus-2-seed1 runs/edge-ferplus-2-seed2 --run RUN

Each run must continue from the one before (``train --weights``): their weights then lie near one
minimum of the loss, and their mean lies nearer to it. The result is no slower than a single run's.
The statistics of the batch norms are measured again on the training faces.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from torch.optim.swa_utils import AveragedModel, update_bn

from calib.errors import RankotomError, exit_on_error
from train.augment import scale_pixels
from train.checkpoint import Checkpoint, load_checkpoint, write_checkpoint
from train.data.crops import load_crops
from train.data.datasets import data_folder, load_dataset
from train.networks import build_network, find_network

BATCH = 256


def average_runs(
    runs: Sequence[Path], output: Path, faces: NDArray[np.uint8], classes: int
) -> None:
    """Write a checkpoint to ``output`` that can be exported, or continued with ``--weights``."""
    checkpoints = [load_checkpoint(run / "checkpoint.safetensors") for run in runs]
    check_output(output)
    first = checkpoints[0].recipe
    for run, checkpoint in zip(runs, checkpoints, strict=True):
        check_same_network(run, checkpoint.recipe, first)
    network = build_network(
        find_network(first["network"]), channels=first["channels"], classes=classes, dropout=0.0
    )
    averaged = AveragedModel(network)
    for checkpoint in checkpoints:
        network.load_state_dict(checkpoint.weights)
        averaged.update_parameters(network)
    parts = np.array_split(faces, max(1, len(faces) // BATCH))
    update_bn((scale_pixels(torch.from_numpy(np.array(part))) for part in parts), averaged)
    output.mkdir(parents=True, exist_ok=True)
    write_checkpoint(
        output / "checkpoint.safetensors",
        combine_recipes(checkpoints, output.name),
        sum(checkpoint.epoch for checkpoint in checkpoints),
        {f"averaged.{key}": value for key, value in averaged.module.state_dict().items()},
    )


def check_output(output: Path) -> None:
    """An average may be overwritten; a training run, which took hours, may not."""
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


def combine_recipes(checkpoints: Sequence[Checkpoint], name: str) -> dict[str, Any]:
    """The last run's recipe, with the recipes of all runs under ``runs``."""
    recipes = [checkpoint.recipe for checkpoint in checkpoints]
    return recipes[-1] | {"name": name, "runs": recipes}


def main(
    runs: Annotated[list[Path], typer.Argument(help="Folders of the runs.", exists=True)],
    run: Annotated[Path, typer.Option(help="Folder for the average.")],
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
) -> None:
    """Average the weights of several runs, each continued from the one before."""
    folder = data_folder(data)
    recipe = load_checkpoint(runs[0] / "checkpoint.safetensors").recipe
    train = load_dataset(recipe["dataset"], folder, "train")
    faces = load_crops(train, recipe["size"], recipe["channels"], None, folder / "framed")
    average_runs(runs, run, faces, len(train.classes))
    print(run / "checkpoint.safetensors")


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
