"""What ranking costs and what it gives: short runs from one network, with and without it.

    python -m train.experiments.ranking --weights runs/teacher-dlib-seed0/checkpoint.safetensors

Every variant of a seed sees the same faces in the same order. The first has blends with their label
loss and no ranking. The others differ from it in the ranking; RankMixup's also has no label loss on
blends, and Eq. 1 as written blends only faces with different labels, with plain seams. "A
temperature for each face" leaves the first variant's network as it is and learns one more layer,
which cannot change an answer. All are measured on the choosing half of FERPlus valid, one view, at
a temperature fitted there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional

from calib.errors import RankotomError, exit_on_error
from calib.metrics import accuracy, nll
from calib.reports.number_text import percent, points
from calib.reports.widgets import plain_table
from calib.temperature import fit_temperature, softmax
from train.augment import scale_pixels
from train.batches import TrainingFaces, derived_seed, shuffle
from train.blend import blend_labels, smooth_blend
from train.data.crops import load_crops
from train.data.datasets import FaceSet, data_folder, load_dataset, validation_half
from train.experiments.rank_order import are_clear, blend_pairs, draw_pairs, is_above
from train.loop import train
from train.methods.cross_entropy import cross_entropy
from train.methods.rank_o_tom import ranking_terms
from train.ranks import Ranks, join_ranks
from train.recipe import STUDENT, Recipe
from train.teachers.ensemble import (
    Faces,
    Member,
    load_member,
    load_network,
    network_logits,
)
from train.teachers.recogniser import Recogniser
from train.training_set import load_training_faces

# The student's recipe without teachers and damage, for a short run of teacher-dlib's network.
BASE = replace(
    STUDENT,
    name="ranking",
    network="dlib-112",
    sizes=((0.0, 112),),
    oversample=0.0,
    distil=0.0,
    distil_lfw=False,
    damaged=0.0,
    epochs=2,
    learning_rate=1e-4,
)
NO_RANKING = "blends, no ranking"
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    NO_RANKING: {"ranking_weight": 0.0},
    "margins from the targets": {},
    "the face's own class": {"ranking": "class"},
    "RankMixup": {"ranking": "logits", "ranking_weight": 0.1},
    "Eq. 1 as written": {"ranking": "fixed", "ranking_weight": 1.0},
}
FACE_TEMPERATURE = "a temperature for each face"
TEMPERATURE_FACES = 8192  # enough for a layer of 257 weights
TEMPERATURE_STEPS = 400


@dataclass(frozen=True)
class RankingResult:
    variant: str
    seed: int
    accuracy: float
    nll: float
    clear_order: float
    order: float


def train_variant(
    variant: str, recipe: Recipe, faces: TrainingFaces, run: Path, ranks: Ranks, weights: Path
) -> Path:
    """The folder of the run; a finished one is not repeated."""
    run_folder = run / f"{variant.replace(' ', '-')}-seed{recipe.seed}"
    run_folder.mkdir(parents=True, exist_ok=True)
    train(recipe, faces, run_folder, ranks, weights)
    with ranks.leader_first():  # only the leader writes it
        return run_folder


class FaceTemperature(nn.Module):
    """A finished network's logits, each face's divided by a temperature from its features."""

    def __init__(self, network: Recogniser) -> None:
        super().__init__()
        self.network = network
        self.layer = nn.Linear(network.fc.in_features, 1)
        nn.init.zeros_(self.layer.weight)

    def pooled(self, pixels: Tensor) -> Tensor:
        return self.network.features(pixels).float().mean(dim=(2, 3))

    def scaled(self, pooled: Tensor) -> Tensor:
        logits: Tensor = self.network.fc(pooled)
        return logits / (1 + functional.softplus(self.layer(pooled)))

    def forward(self, pixels: Tensor) -> Tensor:
        return self.scaled(self.pooled(pixels))


def learn_face_temperature(recipe: Recipe, faces: TrainingFaces, run_folder: Path) -> nn.Module:
    """Label loss and ranking by the targets, on faces and their blends; only the layer learns."""
    torch.manual_seed(derived_seed(recipe.seed, "temperature"))
    finished = load_network(run_folder / "checkpoint.safetensors")
    assert isinstance(finished, Recogniser)
    network = FaceTemperature(finished)
    where = shuffle(len(faces.fer), recipe.seed, "temperature")[:TEMPERATURE_FACES]
    pixels, targets = torch.from_numpy(faces.fer[where]), torch.from_numpy(faces.targets[where])
    first = torch.arange(len(where))
    second = first.roll(1)
    pixels = torch.cat([pixels, smooth_blend(pixels, pixels[second])])
    targets = torch.cat([targets, blend_labels(targets, targets[second])])
    with torch.no_grad():
        pooled = torch.cat([network.pooled(scale_pixels(part)) for part in pixels.split(128)])
    labels = torch.from_numpy(faces.labels[where])
    optimizer = torch.optim.Adam(network.layer.parameters(), lr=1e-2)
    for _ in range(TEMPERATURE_STEPS):
        logits = network.scaled(pooled)
        terms = ranking_terms(recipe, logits, targets, labels, first, second)
        loss = cross_entropy(logits, targets).mean() + BASE.ranking_weight * terms.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network.eval()


def measure(
    variant: str, seed: int, member: Member, faces: FaceSet, pixels: Faces
) -> RankingResult:
    assert faces.labels is not None
    logits = member.logits(pixels)
    temperature = fit_temperature(logits, faces.labels)
    probabilities = softmax(logits, temperature)
    of_blends = softmax(member.logits(blend_pairs(pixels)), temperature).max(axis=1)
    confidence, (upper, lower) = probabilities.max(axis=1), draw_pairs(len(pixels))
    above = is_above(of_blends, confidence[upper], confidence[lower])
    return RankingResult(
        variant=variant,
        seed=seed,
        accuracy=accuracy(probabilities, faces.labels),
        nll=nll(probabilities, faces.labels),
        clear_order=float(above[:, are_clear(faces)].mean()),
        order=float(above.mean()),
    )


def results_table(results: Sequence[RankingResult]) -> Table:
    """Means over the seeds; the change of accuracy also for each seed."""
    columns = ("accuracy", "change, points", "of each seed", "NLL", "clear pairs", "all pairs")
    table = plain_table(("", "left"), *((column, "right") for column in columns))
    plain = {run.seed: run.accuracy for run in results if run.variant == NO_RANKING}
    for variant in dict.fromkeys(run.variant for run in results):
        runs = [run for run in results if run.variant == variant]
        changes = [run.accuracy - plain[run.seed] for run in runs]
        table.add_row(
            variant,
            percent(float(np.mean([run.accuracy for run in runs])), 1),
            points(float(np.mean(changes))),
            " ".join(points(change) for change in changes),
            f"{np.mean([run.nll for run in runs]):.3f}",
            percent(float(np.mean([run.clear_order for run in runs])), 1),
            percent(float(np.mean([run.order for run in runs])), 1),
        )
    return table


def main(
    weights: Annotated[Path, typer.Option(exists=True, help="Checkpoint that all start from.")],
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
    run: Annotated[Path, typer.Option(help="Folder for the runs.")] = Path("runs/ranking"),
    seeds: Annotated[int, typer.Option(min=1)] = 3,
    epochs: Annotated[int, typer.Option(min=1)] = BASE.epochs,
    bfloat16: Annotated[bool, typer.Option("--bfloat16")] = False,
    only: Annotated[list[str] | None, typer.Option(help="Only these variants.")] = None,
) -> None:
    """Train every variant with every seed, and print the table for docs/results.md."""
    folder, console = data_folder(data), Console()
    choose = validation_half(load_dataset("ferplus", folder, "valid"), "choose")
    pixels = load_crops(choose, BASE.size, BASE.channels, None, folder / "framed")
    for name in only or ():
        if name not in VARIANTS:
            raise RankotomError(f"There is no variant {name!r}. Choose of {', '.join(VARIANTS)}.")
    results = []
    with join_ranks() as ranks:
        for seed in range(seeds):
            for variant, parts in VARIANTS.items():
                if only and variant not in (NO_RANKING, *only):
                    continue
                recipe = replace(BASE, seed=seed, epochs=epochs, bfloat16=bfloat16, **parts)
                faces = load_training_faces(recipe, folder, folder / "framed")
                run_folder = train_variant(variant, recipe, faces, run, ranks, weights)
                member = load_member(str(run_folder), views=1)
                results.append(measure(variant, seed, member, choose, pixels))
                if variant == NO_RANKING:
                    scaled = learn_face_temperature(recipe, faces, run_folder)
                    member = replace(member, logits=partial(network_logits, scaled, views=1))
                    results.append(measure(FACE_TEMPERATURE, seed, member, choose, pixels))
        if ranks.is_leader:
            console.print(results_table(results))


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
