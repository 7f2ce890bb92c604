"""What each part of the paper buys: five recipes at an equal budget, over several seeds.

    make ablation        python -m train.experiments.ablation --data DIR --run runs/ablation

The paper's networks start from trained weights. So may these: with ``--start EPOCHS`` all variants
of a seed go on from one network that learned by cross-entropy alone for so many epochs.

And what each departure from it buys that our own recipes make (train/recipe.py), one at a time:

    python -m train.experiments.ablation --departures

Each run is measured on the reporting half of FERPlus valid as it comes out of training, without a
temperature: what the losses do to confidence is the question here.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from calib.blends import top2_match
from calib.errors import exit_on_error
from calib.files import replacing
from calib.metrics import accuracy, adaptive_ece, ece, mce, nll
from calib.temperature import softmax
from train.augment import Strength
from train.checkpoint import load_checkpoint
from train.data.crops import load_crops
from train.data.datasets import FaceSet, data_folder, load_dataset, validation_half
from train.experiments.rank_order import blends_of, held_out_pairs, rank_order
from train.loop import predict, train
from train.networks import build_network
from train.ranks import Ranks, join_ranks
from train.recipe import EDGE_FERPLUS, Recipe
from train.training_set import load_training_faces

# The paper's losses and labels on the smallest network, so that fifteen runs take an evening.
BASE = Recipe(
    name="ablation",
    network="edge-narrow",
    size=48,
    channels=1,
    epochs=6,
    batch=64,
    learning_rate=2e-3,
    schedule="one-cycle",  # six epochs at the paper's constant rate are far from the end
    partners=0.5,
)
WITHOUT: dict[str, Any] = {"blends": False, "ranking_weight": 0.0, "face_recognition": False}
# From trained weights: the paper's own rate, and its blends from the first step on.
CONTINUED: dict[str, Any] = {"learning_rate": 5e-4, "partners_from": 0.0}
# From the first step on, Eq. 1 outweighs the focal loss, and a network from scratch learns to tell
# blends from faces and little else. The paper's start from trained weights. With FR faces its
# thresholds see to it: none has passed one before the first epoch's end.
LATER: dict[str, Any] = {"face_recognition": False, "partners_from": 1 / 3}
VARIANTS: dict[str, dict[str, Any]] = {
    "cross-entropy": WITHOUT | {"loss": "cross-entropy"},
    "focal": WITHOUT,
    "focal + blends": WITHOUT | LATER | {"blends": True},
    "focal + blends + ranking": LATER,
    "Rank-O-ToM": {},
}
PLAIN = VARIANTS["cross-entropy"]
# Our recipe's but for the darkness, which is for cameras and not for FERPlus.
STRONGER = Strength(shift=0.06, rotation=12.0, scale=0.1, light=0.15, erase=0.3)
# The parts of the paper in our measure: an eighth of the partners, with soft pseudo-labels.
FEWER: dict[str, Any] = {
    "loss": "cross-entropy",
    "partners": EDGE_FERPLUS.partners,
    "partners_from": 1 / 3,
    "pseudo_targets": "probabilities",
}
DEPARTURES: dict[str, dict[str, Any]] = {
    "cross-entropy": PLAIN,
    "votes for labels": PLAIN | {"targets": "votes"},
    "AdamW, decay 0.05": PLAIN | {"optimizer": "adamw", "weight_decay": 0.05},
    "averaged weights, 0.999": PLAIN | {"ema": 0.999},
    "stronger augmentation": PLAIN | {"strength": STRONGER},
    "dropout 0.3": PLAIN | {"dropout": 0.3},
    "batch of 128": PLAIN | {"batch": 128},
    "constant rate of 5e-4": PLAIN | {"schedule": "constant", "learning_rate": 5e-4},  # the paper's
    "an eighth of the partners": FEWER,
    "and a tenth of the ranking": FEWER | {"ranking_weight": EDGE_FERPLUS.ranking_weight},
}


@dataclass(frozen=True)
class Measured:
    """One run on the reporting half."""

    variant: str
    seed: int
    accuracy: float
    ece: float
    aece: float
    mce: float
    nll: float
    top2_match: float
    rank_order: float


def ablate(
    variants: Mapping[str, Mapping[str, Any]],
    folder: Path,
    run: Path,
    ranks: Ranks,
    *,
    seeds: int,
    epochs: int,
    start: int = 0,
) -> Iterator[Measured]:
    """Every variant with every seed, seed by seed; runs that are done are not done again."""
    report = validation_half(load_dataset("ferplus", folder, "valid"), "report")
    pixels = load_crops(report, BASE.size, BASE.channels, None, folder / "framed")
    after = f"-after{start}" if start else ""  # other weights to go on from are another run

    def trained(recipe: Recipe, name: str, weights: Path | None = None) -> Path:
        place = run / f"{name.replace(' ', '')}{after}-seed{recipe.seed}"
        place.mkdir(parents=True, exist_ok=True)
        faces = load_training_faces(recipe, folder, folder / "framed")
        checkpoint = train(recipe, faces, place, ranks, weights)
        with ranks.leader_first():  # which wrote it
            return checkpoint

    for seed in range(seeds):
        weights = trained(recipe_of(PLAIN, seed, start), "start") if start else None
        for variant, parts in variants.items():
            recipe = recipe_of(parts, seed, epochs, continued=start > 0)
            checkpoint = trained(recipe, variant, weights)
            yield measure(variant, recipe, checkpoint, report, pixels)


def recipe_of(parts: Mapping[str, Any], seed: int, epochs: int, continued: bool = False) -> Recipe:
    further = CONTINUED if continued else {}
    return replace(BASE, seed=seed, epochs=epochs, **{**parts, **further})


def measure(
    variant: str, recipe: Recipe, checkpoint: Path, report: FaceSet, pixels: NDArray[np.uint8]
) -> Measured:
    assert report.labels is not None
    assert report.votes is not None
    network = build_network(
        recipe.network, channels=recipe.channels, classes=len(report.classes), dropout=0.0
    ).eval()
    network.load_state_dict(load_checkpoint(checkpoint).weights)

    def probabilities(faces: NDArray[np.uint8]) -> NDArray[np.float64]:
        return softmax(predict(network, faces, recipe.size, torch.device("cpu")).double().numpy())

    shown = probabilities(pixels)
    confidence, correct = shown.max(axis=1), shown.argmax(axis=1) == report.labels
    upper, lower = held_out_pairs(len(pixels))
    agreement = top2_match(shown, report.votes)
    return Measured(
        variant=variant,
        seed=recipe.seed,
        accuracy=accuracy(shown, report.labels),
        ece=ece(confidence, correct),
        aece=adaptive_ece(confidence, correct),
        mce=mce(confidence, correct, least=50),
        nll=nll(shown, report.labels),
        top2_match=np.nan if agreement is None else agreement,
        rank_order=rank_order(
            probabilities(blends_of(pixels)).max(axis=1), confidence[upper], confidence[lower]
        ),
    )


def table_of(measured: Sequence[Measured]) -> list[list[str]]:
    """A row a variant: the mean over seeds, and the spread (lowest to highest) behind it."""
    rows = []
    for variant in names_of(measured):
        runs = [run for run in measured if run.variant == variant]
        rows.append([variant, *(cell([getattr(run, key) for run in runs], key) for key in SHOWN)])
    return rows


def names_of(measured: Sequence[Measured]) -> list[str]:
    """In the order in which they were measured."""
    return list(dict.fromkeys(run.variant for run in measured))


def cell(values: Sequence[float], key: str) -> str:
    scale, digits = (1.0, 3) if key == "nll" else (100.0, 1)
    low, high = (f"{scale * value:.{digits}f}" for value in (min(values), max(values)))
    mean = f"{scale * float(np.mean(values)):.{digits}f}"
    return f"{mean} ({low} to {high})" if len(values) > 1 else mean


SHOWN: Mapping[str, str] = {
    "accuracy": "accuracy %",
    "ece": "ECE %",
    "aece": "AECE %",
    "mce": "MCE % (bins of 50 or more)",
    "nll": "NLL",
    "top2_match": "top-2 match %",
    "rank_order": "rank order %",
}


def as_markdown(measured: Sequence[Measured]) -> str:
    heads = ["variant", *SHOWN.values()]
    lines = [heads, ["---"] * len(heads), *table_of(measured)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def draw_plot(measured: Sequence[Measured], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = ("accuracy", "ece", "nll", "rank_order")
    figure, panels = pyplot.subplots(1, len(shown), figsize=(13, 3.2), sharey=True)
    names = names_of(measured)
    for panel, key in zip(panels, shown, strict=True):
        scale = 1 if key == "nll" else 100
        for row, name in enumerate(names):
            values = [scale * getattr(run, key) for run in measured if run.variant == name]
            panel.plot(values, [row] * len(values), "o", color="#0072B2", alpha=0.45)
            panel.plot([np.mean(values)], [row], "|", color="#D55E00", markersize=18, mew=3)
        panel.set_title(SHOWN[key], fontsize=10)
        panel.grid(axis="x", alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)  # the first on top
    figure.tight_layout()
    with replacing(path) as file:
        figure.savefig(file, dpi=130)
    pyplot.close(figure)


def main(
    data: Annotated[Path | None, typer.Option(help="Folder of the data sets.")] = None,
    run: Annotated[Path, typer.Option(help="Where runs and results go.")] = Path("runs/ablation"),
    seeds: int = 3,
    epochs: int = BASE.epochs,
    start: Annotated[
        int, typer.Option(min=0, help="Epochs of cross-entropy that all variants go on from.")
    ] = 0,
    plot: Path | None = None,
    departures: Annotated[
        bool, typer.Option("--departures", help="From the paper, instead of its parts.")
    ] = False,
) -> None:
    """Train and measure the five variants, and print the table for docs/results.md."""
    variants, results = (
        (DEPARTURES, "departures.json") if departures else (VARIANTS, "results.json")
    )
    run.mkdir(parents=True, exist_ok=True)
    measured: list[Measured] = []
    with join_ranks() as ranks:
        folder = data_folder(data)
        for result in ablate(variants, folder, run, ranks, seeds=seeds, epochs=epochs, start=start):
            measured.append(result)
            with replacing(run / results) as file:
                file.write_text(json.dumps([asdict(each) for each in measured], indent=1))
            if plot is not None:
                draw_plot(measured, plot)
    title = f"{seeds} seeds, {epochs} epochs each" + (f" after {start} in common" if start else "")
    table = Table("variant", *SHOWN.values(), title=title)
    for row in table_of(measured):
        table.add_row(*row)
    Console(stderr=True).print(table)
    print(as_markdown(measured), end="")


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
