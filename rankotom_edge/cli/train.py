"""``rankotom-edge train``: a recipe on data sets, to its end or on from where it was."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calib.errors import RankotomError
from rankotom_edge.cli.extras import extra
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
            metavar="RECIPE", help="Its name; [bold]--list[/] shows them.", show_default=False
        ),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="Show the recipes and what they are for.")
    ] = False,
    data: DataOption = None,
    check_count: Annotated[
        bool,
        typer.Option(
            "--check-count/--no-check-count",
            help="Hold the number of pictures against the paper's table first.",
        ),
    ] = True,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help=(
                "The run's folder; a run that is in it goes on. "
                r"[dim]\[default: runs/RECIPE-seedN][/]"
            ),
            show_default=False,
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Other than the recipe's.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Other than the recipe's.")
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Other than the recipe's: resnet18, resnet50, edge …"),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Start from these: a checkpoint, or torchvision's, as .pth or .safetensors.",
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="CPU threads; torch chooses otherwise.")
    ] = None,
    bfloat16: Annotated[
        bool,
        typer.Option(
            "--bfloat16",
            help="Compute so on a CPU too; nearly twice as fast where it has AVX-512 BF16.",
        ),
    ] = False,
    json: JsonTarget = None,
) -> None:
    """A recipe on data sets: the paper's training, or that of our model.
    [dim]rankotom-edge train edge-ferplus --data ~/faces[/]

    What ends early goes on by the same command, and comes to the same
    weights. On several GPUs (torchrun takes --run for its own without the --):
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

    if listed:
        show(recipes_report(), None)
        return
    if recipe is None:
        raise typer.BadParameter("which recipe? rankotom-edge train --list shows them")
    chosen = override_recipe(
        find_recipe(recipe),
        epochs=epochs,
        seed=seed,
        network=None if network is None else find_network(network),
        bfloat16=bfloat16,
    )
    folder = run or Path("runs") / f"{chosen.name}-seed{chosen.seed}"
    faces_folder = data_folder(data)
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        with join_ranks() as ranks:
            with ranks.leader_first():
                faces = load_training_faces(chosen, faces_folder, faces_folder / "framed", check_count)
            checkpoint = train_recipe(chosen, faces, folder, ranks, weights)
    except KeyboardInterrupt:
        print(f"\ninterrupted: {what_is_left(folder)}", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    if not ranks.is_leader:
        return
    rows = read_metrics(folder)
    if not rows:
        raise RankotomError(f"{checkpoint} is at its end, but the metrics.csv beside it is gone.")
    figures = rows[-1]
    if json is not None:
        numbers = {name: float(value) for name, value in figures.items() if name != "thresholds"}
        thresholds = dict(
            zip(faces.classes, map(float, figures["thresholds"].split()), strict=True)
        )
        write_json(json, {"checkpoint": str(checkpoint), **numbers, "thresholds": thresholds})
    show(run_report(chosen, figures, len(faces.choose)), json)
    if json != STDOUT:
        typer.echo(f"checkpoint   {checkpoint}")  # in one piece, however narrow the terminal


def what_is_left(folder: Path) -> str:
    checkpoint = folder / "checkpoint.safetensors"
    if checkpoint.exists():
        return f"the last checkpoint is {checkpoint}; the same command goes on from there"
    return "no epoch was done, so there is no checkpoint"


def recipes_report() -> "RenderableType":
    from calib.reports.widgets import plain_table
    from train.recipe import PURPOSES

    table = plain_table(("recipe", "left"), ("what it is for", "left"))
    for name, purpose in PURPOSES.items():
        table.add_row(name, purpose)
    return table


def run_report(recipe: "Recipe", figures: dict[str, str], faces: int) -> "RenderableType":
    from rich.console import Group

    from calib.reports.widgets import figure_text, heading, plain_table, title

    table = plain_table(("", "left"), ("as trained", "right"), ("at the temperature", "right"))
    table.add_row("accuracy", figure_text(float(figures["accuracy"]), 1), "")
    table.add_row(
        "ECE",
        figure_text(float(figures["ece"]), 2),
        figure_text(float(figures["ece_at_temperature"]), 2),
    )
    table.add_row("NLL", "", figure_text(float(figures["nll_at_temperature"]), None))
    table.add_row("temperature", "", f"{float(figures['temperature']):.2f}")
    return Group(
        title(recipe.name, f"{recipe.epochs} epochs, seed {recipe.seed}"),
        heading(f"On the {faces:,} faces that choices are made on"),
        table,
    )
