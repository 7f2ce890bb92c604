"""The paper's Figure 3 for trained methods: what they see in RAF-DB's compound faces.

    python -m train.experiments.compounds runs/table1/rafdb-… --plot /tmp/figure3.png

Each RUN is the folder of a run on basic emotions, as table1 and ``rankotom-edge train`` leave them.
The faces have names such as "sadly angry", which count as a vote for each of the two emotions. A
face is a match if the two emotions that are likeliest to the network are these.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from rich.console import Console
from rich.table import Table

from calib.arrays import FloatArray
from calib.blends import COMPOUNDS, CompoundHeatmap, compound_heatmap
from calib.emotions import EMOTIONS
from calib.errors import RankotomError, exit_on_error
from calib.intervals import share_interval
from calib.reports import plots
from calib.reports.evaluation_plot import draw_heatmap
from calib.reports.number_text import interval_text, percent
from calib.reports.widgets import plain_table
from calib.temperature import softmax
from train.checkpoint import load_checkpoint
from train.data.crops import load_crops
from train.data.datasets import FaceSet, Split, data_folder, load_dataset
from train.loop import predict
from train.recipe import Recipe
from train.teachers.ensemble import load_network

PARTS = {name: parts for parts, name in COMPOUNDS.items()}
SIDE_BY_SIDE = 3


@dataclass(frozen=True, eq=False)
class RunHeatmap:
    name: str
    heatmap: CompoundHeatmap

    @property
    def faces(self) -> int:
        return sum(self.heatmap.counts)

    @property
    def matched(self) -> int:
        return round(float(np.dot(self.heatmap.matches, self.heatmap.counts)))


def compound_votes(faces: FaceSet, emotions: tuple[str, ...]) -> FloatArray:
    """One vote for each of the two emotions that a face's name says, (n, k)."""
    assert faces.labels is not None
    named = [[emotion in PARTS[name] for emotion in emotions] for name in faces.classes]
    votes: FloatArray = np.array(named, np.float64)[faces.labels]
    return votes


def run_heatmap(run: Path, faces: FaceSet, folder: Path) -> RunHeatmap:
    path = run / "checkpoint.safetensors"
    if not path.is_file():
        raise RankotomError(f"{run} has no checkpoint.safetensors: it is not the folder of a run.")
    recipe = input_recipe(load_checkpoint(path).recipe)
    network = load_network(path)
    pixels = load_crops(faces, recipe.size, recipe.channels, None, folder / "framed")
    size = recipe.size_at(recipe.epochs - 1)
    logits = predict(network, pixels, size, torch.device("cpu")).double().numpy()
    emotions = EMOTIONS[: logits.shape[1]]  # RAF-DB has no contempt, the last
    votes = compound_votes(faces, emotions)
    return RunHeatmap(run.name, compound_heatmap(softmax(logits), votes, emotions))


def input_recipe(stored: dict[str, Any]) -> Recipe:
    """What the recipe in a checkpoint says of the network's input."""
    keys = ("name", "network", "size", "channels", "epochs")
    return Recipe(**{key: stored[key] for key in keys}, sizes=tuple(map(tuple, stored["sizes"])))


def tables(runs: list[RunHeatmap]) -> tuple[Table, Table]:
    """A line a run, and the matches of each compound under the runs' numbers."""
    summary = plain_table(
        ("", "right"), ("", "left"), ("top-2 match", "right"), ("95 % interval", "right")
    )
    numbers = [str(number) for number, _ in enumerate(runs, start=1)]
    for number, run in zip(numbers, runs, strict=True):
        interval = share_interval(run.matched, run.faces)
        summary.add_row(
            number, run.name, percent(run.matched / run.faces), interval_text(interval, 1)
        )
    compounds = plain_table(
        ("", "left"), ("faces", "right"), *((number, "right") for number in numbers)
    )
    names, counts = runs[0].heatmap.rows, runs[0].heatmap.counts
    for row, (name, count) in enumerate(zip(names, counts, strict=True)):
        shares = (percent(run.heatmap.matches[row]) for run in runs)
        compounds.add_row(name, f"{count:,}", *shares)
    return summary, compounds


def draw(runs: list[RunHeatmap], path: Path) -> None:
    rows = -(-len(runs) // SIDE_BY_SIDE)
    columns = -(-len(runs) // rows)
    with plots.plot_file(path, (2.2 + 5.2 * columns, 0.9 + 4.4 * rows)) as figure:
        plots.add_headline(
            figure,
            f"{runs[0].faces:,} compound faces of RAF-DB",
            "Mean confidence in %, the two emotions of the compound framed; in the title the share "
            "of faces whose two likeliest emotions are these",
            plots.INK,
        )
        for place, run in enumerate(runs):
            axes = figure.add_subplot(rows, columns, place + 1)
            draw_heatmap(axes, run.heatmap)
            axes.set_title(f"{place + 1}  {run.name}: {percent(run.matched / run.faces)}")
            axes.tick_params(labelleft=place % columns == 0)


def main(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.")],
    plot: Annotated[Path | None, typer.Option(help="Draw the heatmaps: .png, .svg, .pdf.")] = None,
    split: Annotated[Split, typer.Option(help="Part of the compound faces.")] = "test",
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
    check_count: Annotated[
        bool, typer.Option(help="Compare the number of pictures with the paper's.")
    ] = True,
) -> None:
    """Print how often each run finds the two emotions of a compound face; draw the heatmaps."""
    folder = data_folder(data)
    faces = load_dataset("rafdb-compound", folder, split, check_count)
    results = [run_heatmap(run, faces, folder) for run in runs]
    summary, compounds = tables(results)
    Console().print(summary, "", compounds)
    if plot is not None:
        draw(results, plot)


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
