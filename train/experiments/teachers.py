"""Compare teachers, their ensemble and students on the choosing half of FERPlus valid.

    python -m train.experiments.teachers runs/teacher-dlib-seed0 runs/teacher-faceres-seed0
    python -m train.experiments.teachers runs/student-seed2 --damage

It never reads the reporting half; only an export prints that, once. Each temperature is fitted on
the faces of the table itself, which flatters every row alike.
"""

from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from calib.arrays import FloatArray
from calib.blends import top2_match
from calib.errors import exit_on_error
from calib.metrics import accuracy, adaptive_ece, ece, mean_recall, nll
from calib.reports.number_text import percent, points
from calib.reports.widgets import plain_table
from calib.temperature import fit_temperature, softmax
from rankotom_edge.faces.crop import FERPLUS_FRAMING, crop
from rankotom_edge.frame import Image
from train.data.crops import load_crops, read_picture
from train.data.damage import Damage
from train.data.datasets import data_folder, load_dataset, validation_half
from train.data.face_covers import face_at
from train.experiments.damage import DAMAGES
from train.teachers.ensemble import Faces, Logits, Member, ensemble_logits, load_member
from train.teachers.recogniser import CROP

Labels = NDArray[np.int64]
Votes = FloatArray  # (n, k)
UNDAMAGED: dict[str, Damage] = {"as they are": lambda picture: picture}


def metrics_row(logits: Logits, labels: Labels, votes: Votes) -> list[str]:
    temperature = fit_temperature(logits, labels)
    probabilities = softmax(logits, temperature)
    confidence, correct = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    return [
        percent(accuracy(probabilities, labels), 2),
        f"{nll(probabilities, labels):.4f}",
        percent(ece(confidence, correct), 2),
        percent(adaptive_ece(confidence, correct), 2),
        percent(mean_recall(probabilities, labels), 1),
        percent(top2_match(probabilities, votes), 1),
        f"{temperature:.2f}",
    ]


def comparison_table(names: list[str], faces: Faces, labels: Labels, votes: Votes) -> Table:
    """A run with one view and with two, a model as it is, and the ensemble of all."""
    columns = ("accuracy", "NLL", "ECE", "AECE", "mean recall", "blend match", "temperature")
    table = plain_table(("", "left"), *((column, "right") for column in columns))
    members = []
    for name in names:
        for views in (1, 2) if Path(name).expanduser().is_dir() else (0,):
            member = load_member(name, views)
            logits = member.logits(faces)
            table.add_row(member.name + views_text(views), *metrics_row(logits, labels, votes))
        members.append(softmax(logits))
    if len(members) > 1:
        table.add_row("ensemble", *metrics_row(ensemble_logits(members), labels, votes))
    return table


def damage_table(member: Member, pictures: list[Image], labels: Labels) -> Table:
    """Accuracy and confidence at the temperature of the undamaged faces."""
    table = plain_table(
        ("faces", "left"), ("accuracy", "right"), ("confidence", "right"), ("gap", "right")
    )
    temperature = fit_temperature(member.logits(crop_pictures(pictures)), labels)
    for damages in (UNDAMAGED, *DAMAGES.values()):
        for name, damage in damages.items():
            damaged = crop_pictures([damage(picture) for picture in pictures])
            probabilities = softmax(member.logits(damaged), temperature)
            right, confidence = accuracy(probabilities, labels), float(probabilities.max(1).mean())
            table.add_row(name, percent(right), percent(confidence), points(confidence - right))
    return table


def crop_pictures(pictures: list[Image]) -> Faces:
    """Crops of pictures that a FERPlus face fills, (n, 1, 48, 48)."""
    places = FERPLUS_FRAMING.points
    faces = [(each, face_at(places * len(each), len(each))) for each in pictures]
    return np.stack([crop(each, face, FERPLUS_FRAMING, CROP, 1) for each, face in faces])


def views_text(views: int) -> str:
    return ("", ", 1 view", ", 2 views")[views]


def main(
    networks: Annotated[list[str], typer.Argument(help="Folders of runs, or models.")],
    damage: Annotated[bool, typer.Option("--damage", help="Each under every damage.")] = False,
    views: Annotated[int, typer.Option(min=1, max=2, help="Of a run, with --damage.")] = 1,
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
) -> None:
    """Print accuracy and calibration of each network and of their ensemble."""
    cv2.setNumThreads(1)
    folder, console = data_folder(data), Console()
    choose = validation_half(load_dataset("ferplus", folder, "valid"), "choose")
    assert choose.labels is not None
    assert choose.votes is not None
    console.print(f"{len(choose):,} faces of {choose.name}")
    if not damage:
        faces = load_crops(choose, CROP, 1, None, folder / "framed")
        console.print(comparison_table(networks, faces, choose.labels, choose.votes))
        return
    pictures = [read_picture(file) for file in choose.files]
    for name in networks:
        member = load_member(name, views)
        console.print(member.name + views_text(views if Path(name).expanduser().is_dir() else 0))
        console.print(damage_table(member, pictures, choose.labels))


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
