"""The paper's Table 1 from one harness: every method on the same faces, network, start and steps.

    python -m train.experiments.table1 --start faces --weights runs/dlib-112.safetensors --every 4
    python -m train.experiments.table1 --start random --every 4
    python -m train.experiments.table1 --dataset rafdb --network resnet18 --size 224 --epochs 60

Nothing is chosen here: each method has its authors' settings (train/methods/settings.py), and the
rest of the recipe is one for all rows. A finished run is not repeated and an interrupted one is
continued, so the command may be given again, or with ``--only`` in several processes at once.
``make table1`` is the table in docs/results.md. Under torchrun every run is shared by all GPUs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Annotated, Any, Literal

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from rich.console import Console

from calib.errors import RankotomError, exit_on_error
from calib.evaluation import Estimate, evaluate
from calib.files import replace_file
from calib.intervals import share_interval
from calib.predictions import Predictions
from calib.reports.table1 import RunResult, Table1, markdown, report, write
from calib.temperature import fit_temperature, softmax
from train.batches import TrainingFaces, batches, steps_per_epoch
from train.checkpoint import load_checkpoint
from train.data.crops import load_crops
from train.data.datasets import FaceSet, Half, data_folder, load_dataset, validation_half
from train.experiments.rank_order import are_clear, blend_pairs, draw_pairs, is_above
from train.loop import begin, predict, train
from train.methods.settings import MblsSettings
from train.networks import build_network, find_network
from train.progress import OverallProgress
from train.ranks import Ranks, join_ranks
from train.recipe import DatasetName, Recipe
from train.training_set import load_training_faces

Start = Literal["random", "faces"]
# What all rows of a start share. The schedule is not the paper's constant rate, which would leave
# runs as short as two CPU cores allow far from convergence.
STARTS: Mapping[Start, Recipe] = {
    "random": Recipe(
        name="table1-random",
        network="edge-narrow",
        size=48,
        channels=1,
        epochs=4,
        learning_rate=2e-3,
        schedule="one-cycle",
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
ALONE: dict[str, Any] = {"blends": False, "ranking_weight": 0.0, "face_recognition": False}
TIMED_STEPS = 5  # of each row; more would not be less noisy on a shared machine


@dataclass(frozen=True)
class Row:
    """A method; ``cost`` is about what its steps take beside cross-entropy's, for the time left."""

    name: str
    changes: Mapping[str, Any]
    cost: float = 1.0
    needs_votes: bool = False

    def recipe(self, base: Recipe) -> Recipe:
        return replace(base, **self.changes)

    def folder(self, recipe: Recipe) -> str:
        name = self.name.lower().replace(", ", "-").replace(" ", "-")
        return f"{recipe.dataset}-{recipe.name}-{name}-seed{recipe.seed}"


ROWS = (
    Row("cross-entropy", ALONE | {"method": "cross-entropy"}),
    # What our row is without blends: targets that are majority label and votes in equal parts.
    Row(
        "cross-entropy, votes",
        ALONE | {"method": "cross-entropy", "targets": "both"},
        needs_votes=True,
    ),
    Row("focal", ALONE | {"method": "focal"}),
    Row("SCN", ALONE | {"method": "scn"}),
    Row("EAC", ALONE | {"method": "eac"}, cost=2.0),
    Row("RAC", ALONE | {"method": "rac"}, cost=2.0),
    Row("CRL, votes", ALONE | {"method": "crl"}, needs_votes=True),
    # At the authors' usual margin of 10 nothing happens in so short a run; 6 to 10 are usual.
    Row("MbLS", ALONE | {"method": "mbls", "mbls": MblsSettings(margin=6.0)}),
    Row("Rank-O-ToM, paper", {}, cost=3.5),
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
        cost=1.2,
        needs_votes=True,
    ),
)


def find_rows(names: Sequence[str], dataset: DatasetName) -> tuple[Row, ...]:
    """The named rows, or all; those that need votes only where the data set has votes."""
    known = {row.name: row for row in ROWS if dataset == "ferplus" or not row.needs_votes}
    for name in names:
        if name not in known:
            raise RankotomError(f"There is no row {name!r}. Choose of: {'; '.join(known)}.")
    return tuple(row for name, row in known.items() if not names or name in names)


def base_recipe(
    start: Start,
    weights: Path | None,
    every: int,
    epochs: int | None,
    bfloat16: bool,
    threads: int | None,
) -> Recipe:
    """What all rows share, as the command's options say."""
    if start == "faces" and weights is None:
        raise RankotomError(
            "--start faces needs --weights. To write them: python -m train.teachers.start_weights "
            "dlib-112 --files FOLDER --to runs/dlib-112.safetensors"
        )
    if start == "random" and weights is not None:
        raise RankotomError("--weights are for --start faces; --start random has none.")
    if threads:
        torch.set_num_threads(threads)
    base = STARTS[start]
    return replace(base, every=every, epochs=epochs or base.epochs, bfloat16=bfloat16)


@dataclass(frozen=True, eq=False)
class RunLogits:
    """What a finished run says of both halves, and of blends of the reporting half."""

    choose: NDArray[np.float32]
    report: NDArray[np.float32]
    blends: NDArray[np.float32]


@dataclass(frozen=True)
class Harness:
    """Where the data sets and the runs are; one for all rows."""

    folder: Path
    runs: Path
    ranks: Ranks
    check_count: bool = True

    def train_rows(
        self, rows: Sequence[Row], bases: Sequence[Recipe], weights: Path | None
    ) -> Iterator[RunResult]:
        """Train and measure every row with every base recipe; these differ in their seed."""
        with self.ranks.leader_first():  # it writes the crops
            choose, report = (self.half(bases[0], half) for half in ("choose", "report"))
            pixels = [self.crops(bases[0], half) for half in (choose, report)]
        overall = OverallProgress([row.cost for _ in bases for row in rows], bases[0].epochs)
        for base in bases:
            for row in rows:
                recipe = row.recipe(base)
                overall.start_run(f"{row.name}, seed {recipe.seed}", row.cost)
                faces = self.training_faces(recipe)
                run = self.runs / row.folder(recipe)
                checkpoint = train(recipe, faces, run, self.ranks, weights, overall)
                with self.ranks.leader_first():  # only the leader writes it
                    logits = run_logits(recipe, checkpoint, len(faces.classes), *pixels)
                yield measure(row, recipe, logits, choose, report)

    def training_faces(self, recipe: Recipe) -> TrainingFaces:
        with self.ranks.leader_first():
            return load_training_faces(
                recipe, self.folder, self.folder / "framed", self.check_count
            )

    def half(self, recipe: Recipe, half: Half) -> FaceSet:
        faces = load_dataset(recipe.dataset, self.folder, "valid", self.check_count)
        return validation_half(faces, half)

    def crops(self, recipe: Recipe, faces: FaceSet) -> NDArray[np.uint8]:
        return load_crops(faces, recipe.size, recipe.channels, None, self.folder / "framed")

    def step_seconds(self, rows: Sequence[Row], base: Recipe) -> dict[str, float]:
        """The median time of a step of each finished run, taken in turns: a busy machine is busy
        for all of them."""
        trainings = {}
        for row in rows:
            recipe = row.recipe(base)
            faces = self.training_faces(recipe)
            training = begin(recipe, faces, self.runs / row.folder(recipe), self.ranks)
            steps = batches(recipe, faces, recipe.epochs - 1, self.ranks, self.ranks.device)
            trainings[row.name] = training, list(islice(steps, TIMED_STEPS))
        seconds: dict[str, list[float]] = {name: [] for name in trainings}
        for number in range(TIMED_STEPS):
            for name, (training, steps_of_run) in trainings.items():
                started = monotonic()
                training.step(steps_of_run[number % len(steps_of_run)])
                seconds[name].append(monotonic() - started)
        return {name: median(times) for name, times in seconds.items()}

    def setting(self, base: Recipe, start: str) -> dict[str, Any]:
        """What all runs have in common, for the table's caption."""
        recipe = replace(base, **ALONE)
        faces = self.training_faces(recipe)
        return {
            "dataset": base.dataset,
            "start": start,
            "network": base.network,
            "faces": len(faces.fer),
            "epochs": base.epochs,
            "steps": steps_per_epoch(recipe, faces),
            "batch": base.batch,
            "measured": len(self.half(base, "report")),
        }


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
        of_choose, of_report, of_blends = (
            predict(network, faces, size, device).numpy()
            for faces in (choose, report, blend_pairs(report))
        )
        with replace_file(stored) as file, file.open("wb") as output:
            np.savez(output, choose=of_choose, report=of_report, blends=of_blends)
    with np.load(stored, allow_pickle=False) as saved:
        return RunLogits(saved["choose"], saved["report"], saved["blends"])


def measure(
    row: Row, recipe: Recipe, logits: RunLogits, choose: FaceSet, report: FaceSet
) -> RunResult:
    """On the reporting half: as trained, and at the temperature of the choosing half."""
    assert choose.labels is not None
    labels = report.labels
    assert labels is not None
    fitted = fit_temperature(logits.choose.astype(np.float64), choose.labels)

    def estimates(temperature: float) -> dict[str, Estimate]:
        predictions = Predictions.from_logits(
            logits.report, labels, report.classes, report.votes, temperature
        )
        return dict(evaluate(predictions).metrics)

    confidence, of_blends = (
        softmax(each.astype(np.float64), fitted).max(axis=1)
        for each in (logits.report, logits.blends)
    )
    upper, lower = draw_pairs(len(report))
    above = is_above(of_blends, confidence[upper], confidence[lower])
    orders = {"order": above}
    if report.votes is not None:
        orders["clear_order"] = above[:, are_clear(report)]
    scaled = {
        **estimates(fitted),
        "temperature": Estimate(fitted),
        **{name: share_of_pairs(each) for name, each in orders.items()},
    }
    return RunResult(row.name, recipe.seed, estimates(1.0), scaled)


def share_of_pairs(above: NDArray[np.bool_]) -> Estimate:
    """The interval counts a blend once: its two comparisons are not independent."""
    pairs = above.shape[1]
    if not pairs:
        return Estimate(None)
    share = float(above.mean())
    return Estimate(share, share_interval(share * pairs, pairs))


def main(
    dataset: Annotated[DatasetName, typer.Option(help="The data set.")] = "ferplus",
    start: Annotated[
        Start, typer.Option(help="Random weights, or those of a face recogniser.")
    ] = "random",
    weights: Annotated[
        Path | None, typer.Option(exists=True, help="The face recogniser's weights.")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
    runs: Annotated[Path, typer.Option(help="Folder for the runs.")] = Path("runs/table1"),
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each row.")] = 2,
    first_seed: Annotated[int, typer.Option(min=0)] = 0,
    only: Annotated[list[str] | None, typer.Option(help="Only these rows.")] = None,
    every: Annotated[int, typer.Option(min=1, help="Train on every n-th face.")] = 1,
    epochs: Annotated[int | None, typer.Option(min=1)] = None,
    network: Annotated[str | None, typer.Option(help="resnet18, resnet50, edge …")] = None,
    size: Annotated[int | None, typer.Option(min=16, help="Pixels.")] = None,
    threads: Annotated[int | None, typer.Option(min=1)] = None,
    bfloat16: Annotated[bool, typer.Option(help="As in `rankotom-edge train`.")] = False,
    check_count: Annotated[
        bool, typer.Option(help="Expect the paper's number of pictures.")
    ] = True,
    json: Annotated[Path | None, typer.Option(help="Write all figures here.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw accuracy against ECE here.")] = None,
) -> None:
    """Train every row with every seed, and print the table; Markdown goes to standard output."""
    base = base_recipe(start, weights, every, epochs, bfloat16, threads)
    base = replace(base, dataset=dataset)
    if network or size:
        name = find_network(network or base.network)
        channels: Literal[1, 3] = 3 if name.startswith("resnet") else 1
        base = replace(base, network=name, size=size or base.size, channels=channels, sizes=())
    bases = [replace(base, seed=seed) for seed in range(first_seed, first_seed + seeds)]
    rows = find_rows(only or (), dataset)
    with join_ranks() as ranks:
        harness = Harness(data_folder(data), runs, ranks, check_count)
        results = list(harness.train_rows(rows, bases, weights))
        seconds = harness.step_seconds(rows, bases[0])
        table = Table1(harness.setting(base, start), tuple(results), seconds)
        if ranks.is_leader:
            write(table, json, plot)
            Console(stderr=True).print(report(table))
            print(markdown(table))


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
