"""What each part of the paper contributes: five recipes at equal cost, over several seeds.

    python -m train.experiments.ablation --run runs/ablation       # or: make ablation
    python -m train.experiments.ablation --departures

With ``--start EPOCHS`` all variants of a seed continue from one network, trained for that number
of epochs by cross-entropy alone. ``--departures`` measures instead, one at a time, what our own
recipes (train/recipe.py) do differently from the paper.

Every run is measured on the reporting half of FERPlus valid, without a temperature: the question is
what the losses themselves do to confidence.
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
from calib.files import replace_file
from calib.metrics import accuracy, adaptive_ece, ece, mce, nll
from calib.temperature import softmax
from train.augment import Strength
from train.checkpoint import load_checkpoint
from train.data.crops import load_crops
from train.data.datasets import FaceSet, data_folder, load_dataset, validation_half
from train.experiments.rank_order import blend_pairs, draw_pairs, is_above
from train.loop import predict, train
from train.networks import build_network
from train.ranks import Ranks, join_ranks
from train.recipe import EDGE_FERPLUS, Recipe
from train.training_set import load_training_faces

# The paper's losses and labels on the smallest network, so that fifteen runs fit in an evening.
BASE = Recipe(
    name="ablation",
    network="edge-narrow",
    size=48,
    channels=1,
    epochs=6,
    batch=64,
    learning_rate=2e-3,
    schedule="one-cycle",  # at the paper's constant rate six epochs are far from convergence
    partners=0.5,
)
WITHOUT: dict[str, Any] = {"blends": False, "ranking_weight": 0.0, "face_recognition": False}
# After --start epochs: the paper's learning rate, and blends from the first step on.
CONTINUED: dict[str, Any] = {"learning_rate": 5e-4, "partners_from": 0.0}
# In an untrained network Eq. 1 outweighs the focal loss: with blends from the first step on it
# learned to tell blends from faces and little else. So they join after a third of the epochs. With
# FR faces the thresholds already delay them: no face passes one in the first epoch.
LATER: dict[str, Any] = {"face_recognition": False, "partners_from": 1 / 3}
VARIANTS: dict[str, dict[str, Any]] = {
    "cross-entropy": WITHOUT | {"loss": "cross-entropy"},
    "focal": WITHOUT,
    "focal + blends": WITHOUT | LATER | {"blends": True},
    "focal + blends + ranking": LATER,
    "Rank-O-ToM": {},
}
PLAIN = VARIANTS["cross-entropy"]
# Close to our recipe's, without the darkening, which is meant for cameras. Chosen by eye.
STRONGER = Strength(shift=0.06, rotation=12.0, scale=0.1, light=0.15, erase=0.3)
# All parts of the paper as our recipe weighs them: few partners, soft pseudo-labels.
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
class RunResult:
    """One run, measured on the reporting half."""

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
) -> Iterator[RunResult]:
    """Train and measure every variant with every seed; finished runs are not repeated."""
    report = validation_half(load_dataset("ferplus", folder, "valid"), "report")
    pixels = load_crops(report, BASE.size, BASE.channels, None, folder / "framed")
    after = f"-after{start}" if start else ""  # another start is another run

    def run_recipe(recipe: Recipe, name: str, weights: Path | None = None) -> Path:
        run_folder = run / f"{name.replace(' ', '')}{after}-seed{recipe.seed}"
        run_folder.mkdir(parents=True, exist_ok=True)
        faces = load_training_faces(recipe, folder, folder / "framed")
        checkpoint = train(recipe, faces, run_folder, ranks, weights)
        with ranks.leader_first():  # only the leader writes it
            return checkpoint

    for seed in range(seeds):
        weights = run_recipe(variant_recipe(PLAIN, seed, start), "start") if start else None
        for variant, parts in variants.items():
            recipe = variant_recipe(parts, seed, epochs, continued=start > 0)
            checkpoint = run_recipe(recipe, variant, weights)
            yield measure(variant, recipe, checkpoint, report, pixels)


def variant_recipe(
    parts: Mapping[str, Any], seed: int, epochs: int, continued: bool = False
) -> Recipe:
    further = CONTINUED if continued else {}
    return replace(BASE, seed=seed, epochs=epochs, **{**parts, **further})


def measure(
    variant: str, recipe: Recipe, checkpoint: Path, report: FaceSet, pixels: NDArray[np.uint8]
) -> RunResult:
    assert report.labels is not None
    assert report.votes is not None
    network = build_network(
        recipe.network, channels=recipe.channels, classes=len(report.classes), dropout=0.0
    ).eval()
    network.load_state_dict(load_checkpoint(checkpoint).weights)

    def probabilities(faces: NDArray[np.uint8]) -> NDArray[np.float64]:
        return softmax(predict(network, faces, recipe.size, torch.device("cpu")).double().numpy())

    of_faces = probabilities(pixels)
    confidence, correct = of_faces.max(axis=1), of_faces.argmax(axis=1) == report.labels
    upper, lower = draw_pairs(len(pixels))
    agreement = top2_match(of_faces, report.votes)
    of_blends = probabilities(blend_pairs(pixels)).max(axis=1)
    return RunResult(
        variant=variant,
        seed=recipe.seed,
        accuracy=accuracy(of_faces, report.labels),
        ece=ece(confidence, correct),
        aece=adaptive_ece(confidence, correct),
        mce=mce(confidence, correct, least=50),
        nll=nll(of_faces, report.labels),
        top2_match=np.nan if agreement is None else agreement,
        rank_order=float(is_above(of_blends, confidence[upper], confidence[lower]).mean()),
    )


def table_rows(results: Sequence[RunResult]) -> list[list[str]]:
    """One row for each variant: the mean over seeds, and the lowest and highest in brackets."""
    rows = []
    for variant in variant_names(results):
        runs = [run for run in results if run.variant == variant]
        rows.append(
            [variant, *(cell_text([getattr(run, key) for run in runs], key) for key in COLUMNS)]
        )
    return rows


def variant_names(results: Sequence[RunResult]) -> list[str]:
    return list(dict.fromkeys(run.variant for run in results))


def cell_text(values: Sequence[float], key: str) -> str:
    scale, digits = (1.0, 3) if key == "nll" else (100.0, 1)
    low, high = (f"{scale * value:.{digits}f}" for value in (min(values), max(values)))
    mean = f"{scale * float(np.mean(values)):.{digits}f}"
    return f"{mean} ({low} to {high})" if len(values) > 1 else mean


COLUMNS: Mapping[str, str] = {
    "accuracy": "accuracy %",
    "ece": "ECE %",
    "aece": "AECE %",
    "mce": "MCE % (bins of 50 or more)",
    "nll": "NLL",
    "top2_match": "top-2 match %",
    "rank_order": "rank order %",
}


def markdown_table(results: Sequence[RunResult]) -> str:
    heads = ["variant", *COLUMNS.values()]
    lines = [heads, ["---"] * len(heads), *table_rows(results)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def draw_plot(results: Sequence[RunResult], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = ("accuracy", "ece", "nll", "rank_order")
    figure, panels = pyplot.subplots(1, len(shown), figsize=(13, 3.2), sharey=True)
    names = variant_names(results)
    for panel, key in zip(panels, shown, strict=True):
        scale = 1 if key == "nll" else 100
        for row, name in enumerate(names):
            values = [scale * getattr(run, key) for run in results if run.variant == name]
            panel.plot(values, [row] * len(values), "o", color="#0072B2", alpha=0.45)
            panel.plot([np.mean(values)], [row], "|", color="#D55E00", markersize=18, mew=3)
        panel.set_title(COLUMNS[key], fontsize=10)
        panel.grid(axis="x", alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_yticks(range(len(names)), names)
    panels[0].set_ylim(len(names) - 0.5, -0.5)  # the first variant on top
    figure.tight_layout()
    with replace_file(path) as file:
        figure.savefig(file, dpi=130)
    pyplot.close(figure)


def main(
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
    run: Annotated[Path, typer.Option(help="Folder for runs and results.")] = Path("runs/ablation"),
    seeds: int = 3,
    epochs: int = BASE.epochs,
    start: Annotated[
        int, typer.Option(min=0, help="Epochs of cross-entropy that all variants continue from.")
    ] = 0,
    plot: Path | None = None,
    departures: Annotated[
        bool, typer.Option("--departures", help="Measure our departures from the paper instead.")
    ] = False,
) -> None:
    """Train and measure the variants, and print the table for docs/results.md."""
    variants = DEPARTURES if departures else VARIANTS
    results_file = run / ("departures.json" if departures else "results.json")
    run.mkdir(parents=True, exist_ok=True)
    results: list[RunResult] = []
    with join_ranks() as ranks:
        folder = data_folder(data)
        for result in ablate(variants, folder, run, ranks, seeds=seeds, epochs=epochs, start=start):
            results.append(result)
            with replace_file(results_file) as file:
                file.write_text(json.dumps([asdict(each) for each in results], indent=1))
            if plot is not None:
                draw_plot(results, plot)
    title = f"{seeds} seeds, {epochs} epochs each" + (
        f" after {start} of cross-entropy" if start else ""
    )
    table = Table("variant", *COLUMNS.values(), title=title)
    for row in table_rows(results):
        table.add_row(*row)
    Console(stderr=True).print(table)
    print(markdown_table(results), end="")


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
