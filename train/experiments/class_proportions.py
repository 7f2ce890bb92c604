"""How the faces of a data set divide into its classes: the paper's pie charts, as bars.

    python -m train.experiments.class_proportions --dataset ferplus --plot /tmp/classes.png

RAF-DB and AffectNet have one held-out part.
"""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from calib.errors import exit_on_error
from calib.reports import plots
from calib.reports.number_text import percent
from calib.reports.widgets import plain_table
from train.data.datasets import FaceSet, Split, data_folder, load_dataset

LabelledName = Literal["ferplus", "rafdb", "rafdb-compound", "affectnet"]


def load_splits(dataset: LabelledName, folder: Path, check_count: bool) -> list[FaceSet]:
    """Train and valid, which for RAF-DB and AffectNet is the one held-out part."""
    splits: tuple[Split, Split] = ("train", "valid")
    return [load_dataset(dataset, folder, split, check_count) for split in splits]


def class_counts(faces: FaceSet) -> NDArray[np.int64]:
    assert faces.labels is not None
    return np.bincount(faces.labels, minlength=len(faces.classes))


def split_name(faces: FaceSet) -> str:
    return faces.name.rpartition("/")[2]


def proportions_table(splits: list[FaceSet]) -> Table:
    table = plain_table(
        ("", "left"), *((words, "right") for faces in splits for words in (split_name(faces), "%"))
    )
    counts = [class_counts(faces) for faces in splits]

    def cells(numbers: list[int]) -> list[str]:
        return [
            words
            for number, each in zip(numbers, counts, strict=True)
            for words in (f"{number:,}", percent(number / each.sum()).removesuffix(" %"))
        ]

    for index in np.argsort(-counts[0], kind="stable"):
        table.add_row(splits[0].classes[index], *cells([int(each[index]) for each in counts]))
    table.add_row("all", *cells([int(each.sum()) for each in counts]))
    return table


def draw(splits: list[FaceSet], path: Path) -> None:
    train, held_out = splits
    counts = class_counts(train)
    order = np.argsort(-counts, kind="stable")
    rows, shares = np.arange(len(order)), 100 * counts[order] / counts.sum()
    most, least = train.classes[order[0]], train.classes[order[-1]]
    with plots.plot_file(path, (8.5, 1.6 + 0.36 * len(order))) as figure:
        plots.add_headline(
            figure,
            f"{train.name.partition('/')[0]}: {counts.sum():,} training faces",
            f"{counts.max() / counts.min():,.0f} faces of {most} for one of {least}",
            plots.BLUE,
        )
        axes = figure.subplots()
        axes.barh(rows, shares, height=0.66, color=plots.SKY, label="train")
        others = class_counts(held_out)[order]
        other_shares = 100 * others / others.sum()
        axes.plot(
            other_shares,
            rows,
            "o",
            color=plots.INK,
            fillstyle="none",
            label=split_name(held_out),
        )
        # At the right edge, where no bar or mark can reach them.
        for row, share, count in zip(rows, shares, counts[order], strict=True):
            for place, words in ((0.9, f"{share:.1f} %"), (1.0, f"{count:,}")):
                axes.annotate(
                    words, (place, row), xycoords=("axes fraction", "data"), ha="right", va="center"
                )
        axes.set_yticks(rows, [train.classes[index] for index in order])
        axes.set(
            ylim=(len(order) - 0.4, -0.6), xlim=(0, 1.35 * max(shares.max(), other_shares.max()))
        )
        axes.set_xlabel("share of the faces, %; the numbers are those of train")
        axes.legend(loc="lower right", bbox_to_anchor=(0.82, 0.0), fontsize=8.5)


def main(
    dataset: Annotated[LabelledName, typer.Option(help="The data set.")] = "ferplus",
    plot: Annotated[Path | None, typer.Option(help="Draw a bar chart: .png, .svg, .pdf.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
    check_count: Annotated[
        bool, typer.Option(help="Compare the number of pictures with the paper's.")
    ] = True,
) -> None:
    """Print the number and the share of the faces of each class."""
    splits = load_splits(dataset, data_folder(data), check_count)
    Console().print(proportions_table(splits))
    if plot is not None:
        draw(splits, plot)


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
