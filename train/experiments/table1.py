"""The paper's Table 1 from one harness: every method on the same faces, network, start and steps.

    python -m train.experiments.table1 --start faces --weights runs/dlib-112.safetensors
    python -m train.experiments.table1 --start random
    python -m train.experiments.table1 --dataset rafdb --network resnet18 --size 224 --epochs 60

Nothing is chosen here: each method has its authors' settings (train/methods/settings.py), and the
rest of the recipe is one for all rows. A finished run is not repeated and an interrupted one is
continued, so the command may be given again, or with ``--only`` in several processes at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
import typer
from numpy.typing import NDArray

from calib.errors import RankotomError, exit_on_error
from calib.files import replace_file
from train.checkpoint import load_checkpoint
from train.data.crops import load_crops
from train.data.datasets import FaceSet, data_folder, load_dataset, validation_half
from train.experiments.rank_order import blend_pairs
from train.loop import predict, train
from train.methods.settings import MblsSettings
from train.networks import build_network, find_network
from train.progress import OverallProgress
from train.ranks import Ranks, join_ranks
from train.recipe import DatasetName, Recipe
from train.training_set import load_training_faces

Start = Literal["random", "faces"]

# What all rows share. On two CPU cores a full pass of FERPlus through 18 runs takes hours, so
# --every takes a part of the faces; on a GPU leave it out and give --network, --size and --epochs.
STARTS: Mapping[Start, Recipe] = {
    "random": Recipe(
        name="table1-random",
        network="edge-narrow",
        size=48,
        channels=1,
        epochs=4,
        learning_rate=2e-3,
        schedule="one-cycle",  # a constant rate would leave so short a run far from convergence
    ),
    # The embedded model's network, from dlib's face recogniser (train/teachers/start_weights.py).
    "faces": Recipe(
        name="table1-faces",
        network="edge-dlib",
        size=48,
        sizes=((0.0, 104),),
        channels=1,
        epochs=4,
        head_rate=4.0,
        schedule="one-cycle",
    ),
}
ALONE: Mapping[str, Any] = {"blends": False, "ranking_weight": 0.0, "face_recognition": False}


@dataclass(frozen=True)
class Row:
    """A method, and how long its steps take beside those of cross-entropy, for the time left."""

    name: str
    changes: Mapping[str, Any]
    cost: float = 1.0
    paper: str = ""  # its name in the paper's Table 1
    needs_votes: bool = field(default=False, kw_only=True)

    def folder(self, recipe: Recipe) -> str:
        name = self.name.lower().replace(", ", "-").replace(" ", "-")
        return f"{recipe.dataset}-{recipe.name}-{name}-seed{recipe.seed}"


ROWS = (
    Row("cross-entropy", ALONE | {"method": "cross-entropy"}),
    Row("focal", ALONE | {"method": "focal"}),
    Row("SCN", ALONE | {"method": "scn"}, paper="SCN"),
    Row("EAC", ALONE | {"method": "eac"}, 2.0, paper="EAC"),
    Row("RAC", ALONE | {"method": "rac"}, 2.0, paper="RAC"),
    Row("CRL, votes", ALONE | {"method": "crl"}, needs_votes=True),
    # At the authors' usual margin of 10 nothing happens in so short a run; 6 to 10 are usual.
    Row("MbLS", ALONE | {"method": "mbls", "mbls": MblsSettings(margin=6.0)}),
    Row("Rank-O-ToM, paper", {}, 2.5, paper="Ours"),
    # The embedded model's recipe without its teachers: few blends, margins from the targets.
    Row(
        "Rank-O-ToM, ours",
        {
            "targets": "both",
            "loss": "cross-entropy",
            "face_recognition": False,
            "ranking": "targets",
            "ranking_weight": 0.3,
            "partners": 0.125,
        },
        1.2,
        needs_votes=True,
    ),
)


@dataclass(frozen=True, eq=False)
class RunLogits:
    """What a finished run says of faces: the choosing half, the reporting half, and its blends."""

    choose: NDArray[np.float32]
    report: NDArray[np.float32]
    blends: NDArray[np.float32]


def find_rows(names: Sequence[str], dataset: DatasetName) -> tuple[Row, ...]:
    known = {row.name: row for row in ROWS if dataset == "ferplus" or not row.needs_votes}
    for name in names:
        if name not in known:
            raise RankotomError(f"There is no row {name!r}. Choose of: {'; '.join(known)}.")
    return tuple(row for name, row in known.items() if not names or name in names)


def train_rows(
    rows: Sequence[Row],
    recipes: Sequence[Recipe],
    folder: Path,
    run: Path,
    ranks: Ranks,
    weights: Path | None,
) -> Iterator[tuple[Row, Recipe, RunLogits]]:
    """Train every row with every recipe (they differ in the seed), the first seed of all first."""
    halves = [load_half(recipes[0], half, folder) for half in ("choose", "report")]
    pixels = [half_pixels(recipes[0], half, folder) for half in halves]
    overall = OverallProgress([row.cost for _ in recipes for row in rows], recipes[0].epochs)
    for base in recipes:
        for row in rows:
            recipe = replace(base, **row.changes)
            run_folder = run / row.folder(recipe)
            overall.start_run(f"{row.name}, seed {recipe.seed}", row.cost)
            faces = load_training_faces(recipe, folder, folder / "framed")
            checkpoint = train(recipe, faces, run_folder, ranks, weights, overall)
            with ranks.leader_first():  # only the leader writes it
                yield row, recipe, run_logits(recipe, checkpoint, len(faces.classes), *pixels)


def load_half(recipe: Recipe, half: Literal["choose", "report"], folder: Path) -> FaceSet:
    return validation_half(load_dataset(recipe.dataset, folder, "valid"), half)


def half_pixels(recipe: Recipe, faces: FaceSet, folder: Path) -> NDArray[np.uint8]:
    return load_crops(faces, recipe.size, recipe.channels, None, folder / "framed")


def run_logits(
    recipe: Recipe,
    checkpoint: Path,
    classes: int,
    choose: NDArray[np.uint8],
    report: NDArray[np.uint8],
) -> RunLogits:
    """From the run's folder if they are there, else from its weights."""
    stored = checkpoint.with_name("logits.npz")
    if not stored.exists() or stored.stat().st_mtime < checkpoint.stat().st_mtime:
        network = build_network(
            recipe.network,
            channels=recipe.channels,
            classes=classes,
            dropout=0.0,
            importance=recipe.method == "scn",
        ).eval()
        network.load_state_dict(load_checkpoint(checkpoint).weights)
        size, device = recipe.size_at(recipe.epochs - 1), torch.device("cpu")
        choose_logits, report_logits, blends = (
            predict(network, faces, size, device).numpy()
            for faces in (choose, report, blend_pairs(report))
        )
        with replace_file(stored) as file, file.open("wb") as output:
            np.savez(output, choose=choose_logits, report=report_logits, blends=blends)
    with np.load(stored, allow_pickle=False) as saved:
        return RunLogits(saved["choose"], saved["report"], saved["blends"])


def main(
    dataset: Annotated[DatasetName, typer.Option(help="The data set.")] = "ferplus",
    start: Annotated[
        Start, typer.Option(help="Random weights, or a face recogniser's.")
    ] = "random",
    weights: Annotated[
        Path | None, typer.Option(exists=True, help="The face recogniser's weights.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
    run: Annotated[Path, typer.Option(help="Folder for the runs.")] = Path("runs/table1"),
    seeds: Annotated[int, typer.Option(min=1)] = 2,
    first_seed: Annotated[int, typer.Option(min=0, help="The first of the seeds.")] = 0,
    only: Annotated[list[str] | None, typer.Option(help="Only these rows.")] = None,
    every: Annotated[int, typer.Option(min=1, help="Train on every n-th face.")] = 1,
    epochs: Annotated[int | None, typer.Option(min=1)] = None,
    network: Annotated[str | None, typer.Option(help="resnet18, resnet50 …")] = None,
    size: Annotated[int | None, typer.Option(min=16, help="Pixels.")] = None,
    threads: Annotated[int | None, typer.Option(min=1)] = None,
) -> None:
    """Train every row, and print the table."""
    if start == "faces" and weights is None:
        raise RankotomError(
            "--start faces needs --weights: python -m train.teachers.start_weights dlib-112 "
            "--files FOLDER --to runs/dlib-112.safetensors writes them."
        )
    if threads:
        torch.set_num_threads(threads)
    base = replace(STARTS[start], dataset=dataset, every=every)
    if epochs:
        base = replace(base, epochs=epochs)
    if network or size:
        base = replace(
            base,
            network=find_network(network or base.network),
            size=size or base.size,
            channels=3 if network and network.startswith("resnet") else base.channels,
        )
    recipes = [replace(base, seed=seed) for seed in range(first_seed, first_seed + seeds)]
    folder, rows = data_folder(data), find_rows(only or (), dataset)
    with join_ranks() as ranks:
        for row, recipe, logits in train_rows(rows, recipes, folder, run, ranks, weights):
            print(row.name, recipe.seed, logits.report.shape)


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
