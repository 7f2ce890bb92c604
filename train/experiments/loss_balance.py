"""How hard the second term of a method's loss pulls at the network, beside its label loss.

    python -m train.experiments.loss_balance                # at the embedded model's weights
    python -m train.experiments.loss_balance runs/table1/ferplus-table1-random-cross-entropy-seed0

A method computes its loss of the same batches with and without its second term; the difference is
the term's. Gradients are those of all weights but the last layer's, which EAC and RAC hold fixed.
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from rich.console import Console
from torch import Tensor, nn

from calib.errors import exit_on_error
from calib.reports.widgets import plain_table
from rankotom_edge.model.artifact import load_artifact
from train.batches import Batch, TrainingFaces, batches
from train.checkpoint import load_checkpoint
from train.data.datasets import data_folder
from train.experiments.compounds import input_recipe
from train.experiments.table1 import ALONE, STARTS
from train.loop import CHECKPOINT
from train.methods.registry import build_method
from train.methods.settings import EacSettings, RacSettings
from train.ranks import Ranks, join_ranks
from train.recipe import Recipe
from train.teachers.ensemble import load_network
from train.teachers.model_weights import load_model_network
from train.training_set import load_training_faces

Changes = dict[str, Any]
EAC, RAC = ALONE | {"method": "eac"}, ALONE | {"method": "rac"}
RANKED: Changes = {"face_recognition": False}
# Each with its second term, and without it.
TERMS: Mapping[str, tuple[Changes, Changes]] = {
    "EAC: agreement": (EAC, EAC | {"eac": EacSettings(weight=0.0)}),
    "RAC: agreement": (RAC, RAC | {"rac": RacSettings(weight=0.0)}),
    "EAC: holes": (
        EAC | {"eac": EacSettings(weight=0.0)},
        EAC | {"eac": EacSettings(weight=0.0, erase_chance=0.0)},
    ),
    "Rank-O-ToM: ranking": (RANKED, RANKED | {"ranking_weight": 0.0}),
    "with cross-entropy": (
        RANKED | {"loss": "cross-entropy"},
        RANKED | {"loss": "cross-entropy", "ranking_weight": 0.0},
    ),
}


@dataclass(frozen=True)
class Balance:
    """Of one batch: the losses, the lengths of their gradients, and the cosine between these."""

    label: float
    term: float
    label_pull: float
    term_pull: float
    cosine: float


def balance(
    parts: tuple[Recipe, Recipe],
    faces: TrainingFaces,
    network: nn.Module,
    ranks: Ranks,
    batch: Batch,
) -> Balance:
    (whole, of_whole), (label, of_label) = (
        loss_and_gradient(recipe, faces, network, ranks, batch) for recipe in parts
    )
    of_term = of_whole - of_label
    pulls = float(of_label.norm()), float(of_term.norm())
    cosine = float(of_label @ of_term) / max(pulls[0] * pulls[1], 1e-12)
    return Balance(label, whole - label, *pulls, cosine)


def loss_and_gradient(
    recipe: Recipe, faces: TrainingFaces, network: nn.Module, ranks: Ranks, batch: Batch
) -> tuple[float, Tensor]:
    loss = build_method(recipe, faces, network, ranks).step(batch).loss
    weights = [each for name, each in network.named_parameters() if not name.startswith("fc.")]
    return loss.item(), torch.cat([each.flatten() for each in torch.autograd.grad(loss, weights)])


def main(
    run: Annotated[
        Path | None, typer.Argument(help="Folder of a run; else the embedded model.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
    steps: Annotated[int, typer.Option(min=1, help="Batches.")] = 4,
    every: Annotated[int, typer.Option(min=1, help="Of every n-th face.")] = 12,
) -> None:
    """Print the means over the batches."""
    if run is None:
        base = STARTS["faces"]
        network: nn.Module = load_model_network(load_artifact("ferplus-fp32"))
    else:
        base = input_recipe(load_checkpoint(run / CHECKPOINT).recipe)
        network = load_network(run / CHECKPOINT)
    network.eval()  # the embedded model's batch norms are folded into its convolutions
    base, folder = replace(base, every=every), data_folder(data)
    faces = load_training_faces(replace(base, **ALONE), folder, folder / "framed")
    heads = ("label loss", "term", "label's pull", "term's pull", "ratio", "cosine")
    table = plain_table(("", "left"), *((head, "right") for head in heads))
    with join_ranks() as ranks:
        for name, changes in TERMS.items():
            recipes = replace(base, **changes[0]), replace(base, **changes[1])
            # Of the last epoch: after the warm-up of EAC and RAC.
            drawn = islice(batches(recipes[0], faces, base.epochs - 1, ranks, ranks.device), steps)
            found = [astuple(balance(recipes, faces, network, ranks, each)) for each in drawn]
            label, term, of_label, of_term, cosine = np.mean(found, axis=0)
            table.add_row(
                name,
                *(f"{each:.2f}" for each in (label, term, of_label, of_term)),
                f"{of_term / of_label:.1f}",
                f"{cosine:+.2f}",
            )
    Console().print(table)


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
