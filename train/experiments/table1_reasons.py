"""Why rows of Table 1 do worse than cross-entropy: one part of each left out or weighed anew.

    python -m train.experiments.table1_reasons --every 6 --epochs 4

Everything else is as in table1.py. The figures are those of the choosing half.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from calib.errors import RankotomError, exit_on_error
from calib.reports.number_text import percent
from calib.reports.widgets import plain_table
from train.data.datasets import data_folder
from train.experiments.table1 import ALONE, Start, base_recipe
from train.loop import train
from train.methods.settings import EacSettings, RacSettings
from train.progress import read_metrics
from train.ranks import join_ranks
from train.training_set import load_training_faces

EAC: dict[str, Any] = ALONE | {"method": "eac"}
RAC: dict[str, Any] = ALONE | {"method": "rac"}
WITHOUT_LFW: dict[str, Any] = {"face_recognition": False}
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "cross-entropy": ALONE | {"method": "cross-entropy"},
    "EAC": EAC,
    "EAC, holes alone": EAC | {"eac": EacSettings(weight=0.0)},
    "EAC, no holes": EAC | {"eac": EacSettings(erase_chance=0.0)},
    "EAC, lambda 0.5": EAC | {"eac": EacSettings(weight=0.5)},
    "RAC": RAC,
    "RAC, labels as they are": RAC | {"rac": RacSettings(smoothing=0.0)},
    "RAC, smooth labels alone": RAC | {"rac": RacSettings(weight=0.0, erase_chance=0.0)},
    "Rank-O-ToM": {},
    "Rank-O-ToM without LFW": WITHOUT_LFW,
    "without LFW, cross-entropy": WITHOUT_LFW | {"loss": "cross-entropy"},
    "without LFW, beta 0.1": WITHOUT_LFW | {"ranking_weight": 0.1},
    "without LFW, beta 0": WITHOUT_LFW | {"ranking_weight": 0.0},
    "without LFW, blends from half": WITHOUT_LFW | {"partners_from": 0.5},
}


def main(
    start: Annotated[Start, typer.Option(help="As in table1.")] = "random",
    weights: Annotated[Path | None, typer.Option(exists=True, help="As in table1.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
    runs: Annotated[Path, typer.Option(help="Folder for the runs.")] = Path("runs/table1-reasons"),
    seed: Annotated[int, typer.Option(min=0)] = 0,
    only: Annotated[list[str] | None, typer.Option(help="Only these variants.")] = None,
    every: Annotated[int, typer.Option(min=1, help="Train on every n-th face.")] = 1,
    epochs: Annotated[int | None, typer.Option(min=1)] = None,
    threads: Annotated[int | None, typer.Option(min=1)] = None,
    bfloat16: Annotated[bool, typer.Option(help="As in `rankotom-edge train`.")] = False,
    check_count: Annotated[
        bool, typer.Option(help="Expect the paper's number of pictures.")
    ] = True,
) -> None:
    """Train every variant, and print its last epoch."""
    unknown = set(only or ()) - VARIANTS.keys()
    if unknown:
        raise RankotomError(f"There is no variant {min(unknown)!r}; see {__file__}.")
    base = replace(base_recipe(start, weights, every, epochs, bfloat16, threads), seed=seed)
    folder = data_folder(data)
    table = plain_table(
        ("", "left"),
        *((head, "right") for head in ("accuracy", "ECE", "T", "ECE at T", "NLL at T")),
        ("last epoch", "left"),
    )
    with join_ranks() as ranks:
        for name in only or VARIANTS:
            recipe = replace(base, **VARIANTS[name])
            with ranks.leader_first():
                faces = load_training_faces(recipe, folder, folder / "framed", check_count)
            run = runs / f"{base.name}-{name.replace(',', '').replace(' ', '-')}-seed{seed}"
            train(recipe, faces, run, ranks, weights)
            last = read_metrics(run)[-1]
            shares = [percent(float(last[key])) for key in ("accuracy", "ece")]
            after = [percent(float(last["ece_at_temperature"])), last["nll_at_temperature"][:5]]
            table.add_row(name, *shares, last["temperature"], *after, last["remark"])
    Console().print(table)


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
