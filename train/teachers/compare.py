"""Teachers, their ensemble and students side by side, on the choosing half of FERPlus valid.

    python -m train.teachers.compare runs/teacher-dlib-seed0 runs/teacher-faceres-seed0 ferplus-fp32
    python -m train.teachers.compare runs/student-dlib-seed2 --damage

The reporting half is never looked at here; an export prints it, once. Temperatures are fitted on
the same faces as the figures, one number each, which flatters all alike.
"""

from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from calib.emotions import EMOTIONS
from calib.errors import exit_on_error
from calib.metrics import accuracy, adaptive_ece, ece, nll
from calib.reports.number_text import value_text
from calib.reports.widgets import plain_table
from calib.temperature import fit_temperature, softmax
from rankotom_edge.faces.crop import FERPLUS_FRAMING, crop
from train.data.crops import load_crops, read_picture
from train.data.damage import Damage
from train.data.datasets import FaceSet, data_folder, load_dataset, validation_half
from train.data.face_covers import face_at
from train.experiments.damage import DAMAGES
from train.teachers.answer import mean_logits
from train.teachers.members import Faces, Logits, Member, find_member
from train.teachers.recogniser import CROP

Labels = NDArray[np.int64]


def row_of(logits: Logits, labels: Labels) -> list[str]:
    temperature = fit_temperature(logits, labels)
    said = softmax(logits, temperature)
    sure, right = said.max(axis=1), said.argmax(axis=1) == labels
    recalls = [right[labels == place].mean() for place in range(len(EMOTIONS))]
    return [
        value_text(accuracy(said, labels), 2),
        f"{nll(said, labels):.4f}",
        value_text(ece(sure, right), 2),
        value_text(adaptive_ece(sure, right), 2),
        value_text(float(np.mean(recalls)), 1),
        f"{temperature:.2f}",
    ]


def side_by_side(named: list[str], faces: Faces, labels: Labels) -> Table:
    table = plain_table(
        ("", "left"),
        *((each, "right") for each in ("right", "NLL", "ECE", "AECE", "recall", "temperature")),
    )
    found = []
    for each in named:
        for views in (1, 2) if Path(each).expanduser().is_dir() else (0,):
            member = find_member(each, views)
            logits = member.logits(faces)
            words = f", {views} view{'s' if views > 1 else ''}" if views else ""
            table.add_row(member.name + words, *row_of(logits, labels))
        found.append(logits)
    if len(found) > 1:
        table.add_row("together", *row_of(mean_logits([softmax(each) for each in found]), labels))
    return table


def under_damage(member: Member, faces: FaceSet, clean: Faces, labels: Labels) -> Table:
    """How right and how sure at one temperature, that of the clean faces."""
    temperature = fit_temperature(member.logits(clean), labels)
    table = plain_table(
        ("faces", "left"), ("right", "right"), ("sure", "right"), ("too sure", "right")
    )
    pictures = [read_picture(file) for file in faces.files]
    rows: dict[str, Damage] = {"as they are": lambda picture: picture}
    rows |= {name: way for ways in DAMAGES.values() for name, way in ways.items()}
    for words, damage in rows.items():
        said = softmax(member.logits(_cropped([damage(each) for each in pictures])), temperature)
        right, sure = accuracy(said, labels), float(said.max(axis=1).mean())
        table.add_row(
            words, value_text(right, 1), value_text(sure, 1), f"{100 * (sure - right):+.1f}"
        )
    return table


def _cropped(pictures: list[NDArray[np.uint8]]) -> Faces:
    contract = FERPLUS_FRAMING
    return np.stack(
        [crop(each, face_at(contract.points, len(each)), contract, CROP, 1) for each in pictures]
    )


def main(
    members: Annotated[list[str], typer.Argument(help="Folders of runs, or models.")],
    damage: Annotated[bool, typer.Option("--damage", help="Each under every damage.")] = False,
    views: Annotated[int, typer.Option(min=1, max=2, help="With --damage, of a run.")] = 1,
    data: Annotated[Path | None, typer.Option(help="Folder of the data sets.")] = None,
) -> None:
    """Print how right and how calibrated networks are, each and together."""
    cv2.setNumThreads(1)
    folder, console = data_folder(data), Console()
    choose = validation_half(load_dataset("ferplus", folder, "valid"), "choose")
    assert choose.labels is not None
    faces = load_crops(choose, CROP, 1, None, folder / "framed")
    console.print(f"{len(faces):,} faces of {choose.name}")
    if not damage:
        console.print(side_by_side(members, faces, choose.labels))
        return
    for each in members:
        member = find_member(each, views)
        console.print(f"{member.name}, {views} view{'s' if views > 1 else ''} of a run")
        console.print(under_damage(member, choose, faces, choose.labels))


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
