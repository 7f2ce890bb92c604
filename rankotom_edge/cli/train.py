"""``rankotom-edge train``: train a recipe, or continue a run that was interrupted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calib.errors import RankotomError
from rankotom_edge.cli.extras import extra
from rankotom_edge.cli.option_groups import OUTPUT_FOLDER
from rankotom_edge.cli.output import INTERRUPTED, JsonTarget, show, write_json
from rankotom_edge.cli.predictions import DataOption
from rankotom_edge.publish.json_lines import STDOUT

if TYPE_CHECKING:
    from rich.console import RenderableType

    from train.recipe import Recipe


def train(
    recipe: Annotated[
        str | None,
        typer.Argument(
            metavar="RECIPE",
            help="The recipe's name; [bold]--list[/] shows them all.",
            show_default=False,
        ),
    ] = None,
    list_recipes: Annotated[
        bool, typer.Option("--list", help="Show the recipes and what they are for.")
    ] = False,
    data: DataOption = None,
    check_count: Annotated[
        bool,
        typer.Option(
            "--check-count/--no-check-count",
            help="Check the number of pictures against the paper's table.",
        ),
    ] = True,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help=(
                "The folder of the run; an unfinished run in it is continued. "
                r"[dim]\[default: runs/RECIPE-seedN][/]"
            ),
            show_default=False,
        ),
        OUTPUT_FOLDER,
    ] = None,
    epochs: Annotated[
        int | None,
        typer.Option(min=1, max=100_000, metavar="N", help="Epochs, instead of the recipe's."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, max=2**32 - 1, metavar="N", help="Random seed, instead of the recipe's."
        ),
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Network, instead of the recipe's: resnet18, resnet50, edge …"
        ),
    ] = None,
    bfloat16: Annotated[
        bool,
        typer.Option(
            "--bfloat16",
            help="Compute in bfloat16 on a CPU too; nearly twice as fast with AVX-512 BF16.",
        ),
    ] = False,
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Start from a checkpoint or torchvision's weights, as .pth or .safetensors.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1024,
            metavar="N",
            help=r"CPU threads for training. [dim]\[default: torch's choice][/]",
            show_default=False,
        ),
    ] = None,
    json: JsonTarget = None,
) -> None:
    """Train a recipe: the paper's, or the one of the embedded model.
    [dim]rankotom-edge train edge-ferplus --data ~/faces[/]

    The same command continues a run that was interrupted, to the same weights.
    On several GPUs (without the --, torchrun would take --run for its own):
    [dim]torchrun --nproc-per-node 2 -m -- rankotom_edge train paper-ferplus[/]
    """
    with extra("train"):
        import torch

        from train.data.datasets import data_folder
        from train.loop import train as train_recipe
        from train.networks import find_network
        from train.progress import read_metrics
        from train.ranks import join_ranks
        from train.recipe import find_recipe, override_recipe
        from train.training_set import load_training_faces

    if list_recipes:
        show(recipes_report(), None)
        return
    if recipe is None:
        raise typer.BadParameter("name a recipe; rankotom-edge train --list shows them")
    chosen = override_recipe(
        find_recipe(recipe),
        epochs=epochs,
        seed=seed,
        network=None if network is None else find_network(network),
        bfloat16=bfloat16 or None,
    )
    folder = run or Path("runs") / f"{chosen.name}-seed{chosen.seed}"
    faces_folder = data_folder(data)
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        with join_ranks() as ranks:
            with ranks.leader_first():
                cache = faces_folder / "framed"
                faces = load_training_faces(chosen, faces_folder, cache, check_count)
            checkpoint = train_recipe(chosen, faces, folder, ranks, weights)
    except KeyboardInterrupt:
        print(f"\ninterrupted: {resume_words(folder)}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if not ranks.is_leader:
        return
    rows = read_metrics(folder)
    if not rows:
        raise RankotomError(
            f"{checkpoint} is complete, but its metrics.csv is missing from {folder}."
        )
    last = rows[-1]
    if json is not None:
        words = ("thresholds", "remark")
        numbers = {name: float(value) for name, value in last.items() if name not in words}
        values = [float(value) for value in last["thresholds"].split()]
        thresholds = dict(zip(faces.classes, values, strict=False))  # not every method has them
        write_json(json, {"checkpoint": str(checkpoint), **numbers, "thresholds": thresholds})
    show(run_report(chosen, last, len(faces.choose)), json)
    if json != STDOUT:
        typer.echo(f"checkpoint   {checkpoint}")  # never wrapped, so that it can be copied


def resume_words(folder: Path) -> str:
    checkpoint = folder / "checkpoint.safetensors"
    if checkpoint.exists():
        return f"the last checkpoint is {checkpoint}; the same command continues from there"
    return "no epoch was completed, so there is no checkpoint"


def recipes_report() -> RenderableType:
    from calib.reports.widgets import plain_table
    from train.recipe import PURPOSES

    table = plain_table(("recipe", "left"), ("what it is for", "left"))
    for name, purpose in PURPOSES.items():
        table.add_row(name, purpose)
    return table


def run_report(recipe: Recipe, metrics: dict[str, str], faces: int) -> RenderableType:
    from rich.console import Group

    from calib.reports.number_text import value_text
    from calib.reports.widgets import heading, plain_table, title

    table = plain_table(("", "left"), ("as trained", "right"), ("at the temperature", "right"))
    table.add_row("accuracy", value_text(float(metrics["accuracy"]), 1), "")
    table.add_row(
        "ECE",
        value_text(float(metrics["ece"]), 2),
        value_text(float(metrics["ece_at_temperature"]), 2),
    )
    table.add_row("NLL", "", value_text(float(metrics["nll_at_temperature"]), None))
    table.add_row("temperature", "", f"{float(metrics['temperature']):.2f}")
    return Group(
        title(recipe.name, f"{recipe.epochs} epochs, seed {recipe.seed}"),
        heading(f"On the {faces:,} faces of the choose half"),
        table,
    )
