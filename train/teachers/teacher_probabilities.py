"""Compute the teachers' probabilities for every training face, once.

    python -m train.teachers.teacher_probabilities runs/teacher-dlib-seed0 ferplus-fp32

Each teacher sees the undamaged face and its mirror image. The ensemble's probabilities are the mean
of the teachers', at a temperature fitted to the labels of the choosing half of valid. They estimate
how likely each label is, not how the votes are split, so a student that learns them is calibrated
at a temperature near 1, on damaged faces too.

There is one file for each teacher and data set, named by the SHA-256 of the teacher and of the
faces, so only missing ones are computed. ``answers/teachers.json`` names the ensemble's teachers
and its temperature; training reads it.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from calib.errors import RankotomError, exit_on_error
from calib.files import replace_file
from calib.temperature import fit_temperature, softmax
from rankotom_edge.faces.crop import FERPLUS_FRAMING
from train.data.crops import load_crops
from train.data.datasets import data_folder, load_dataset, validation_half
from train.teachers.ensemble import Faces, Member, ensemble_logits, load_member
from train.teachers.recogniser import CROP

FOLDER = "answers"  # in the folder of the data sets
TEACHERS = "teachers.json"
COMMAND = "Run python -m train.teachers.teacher_probabilities with the teachers."


def compute_probabilities(
    teachers: Sequence[Member], dataset: str, faces: Faces, cache: Path
) -> list[NDArray[np.float16]]:
    """Each teacher's probabilities for these faces, from the cache where they are there."""
    cache.mkdir(parents=True, exist_ok=True)
    probabilities = []
    for teacher in teachers:
        path = _cache_file(cache, teacher.sha256, dataset, faces)
        if not path.exists():
            computed = softmax(teacher.logits(faces)).astype(np.float16)
            with replace_file(path) as file:
                np.savez(file, probabilities=computed)
        probabilities.append(_read_probabilities(path, teacher.name))
    return probabilities


def save_ensemble(teachers: Sequence[Member], temperature: float, cache: Path) -> None:
    """Make these the teachers whose probabilities training reads."""
    entries = [{"name": teacher.name, "sha256": teacher.sha256} for teacher in teachers]
    with replace_file(cache / TEACHERS) as file:
        content = {"teachers": entries, "temperature": temperature}
        file.write_text(json.dumps(content, indent=1) + "\n")


def read_ensemble_probabilities(dataset: str, faces: Faces, cache: Path) -> NDArray[np.float32]:
    """The ensemble's probabilities for these faces, (n, k)."""
    try:
        ensemble: dict[str, Any] = json.loads((cache / TEACHERS).read_text())
    except (OSError, ValueError) as error:
        raise RankotomError(
            f"There are no teachers' probabilities in {cache}. {COMMAND}"
        ) from error
    probabilities = [
        _read_probabilities(_cache_file(cache, each["sha256"], dataset, faces), each["name"])
        for each in ensemble["teachers"]
    ]
    return softmax(ensemble_logits(probabilities), ensemble["temperature"]).astype(np.float32)


def _read_probabilities(path: Path, teacher: str) -> NDArray[np.float16]:
    try:
        with np.load(path) as stored:
            return np.asarray(stored["probabilities"])
    except (OSError, ValueError, KeyError) as error:
        raise RankotomError(
            f"There are no probabilities of {teacher} for these faces. {COMMAND}"
        ) from error


def _cache_file(cache: Path, teacher: str, dataset: str, faces: Faces) -> Path:
    pixels = hashlib.sha256(faces.tobytes()).hexdigest()
    return cache / f"{dataset.replace('/', '-')}-{pixels[:12]}-{teacher[:12]}.npz"


def main(
    teachers: Annotated[list[str], typer.Argument(help="Folders of runs, or models.")],
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
) -> None:
    """Compute the teachers' probabilities for FERPlus train and LFW."""
    folder, console = data_folder(data), Console()
    members, cache = [load_member(name) for name in teachers], folder / FOLDER

    choose = validation_half(load_dataset("ferplus", folder, "valid"), "choose")
    assert choose.labels is not None
    pixels = load_crops(choose, CROP, 1, None, folder / "framed")
    logits = ensemble_logits(compute_probabilities(members, choose.name, pixels, cache))
    temperature = fit_temperature(logits, choose.labels)
    save_ensemble(members, temperature, cache)
    console.print(f"{len(members)} teachers at a temperature of {temperature:.3f}")

    train, lfw = load_dataset("ferplus", folder, "train"), load_dataset("lfw", folder, "train")
    for faces, framing in ((train, None), (lfw, FERPLUS_FRAMING)):
        pixels = load_crops(faces, CROP, 1, framing, folder / "framed")
        compute_probabilities(members, faces.name, pixels, cache)
        means = read_ensemble_probabilities(faces.name, pixels, cache).mean(axis=0)
        shares = zip(choose.classes, means, strict=True)
        shown = "  ".join(f"{emotion} {share:.3f}" for emotion, share in shares)
        console.print(f"{faces.name}: {len(faces):,} faces: {shown}")


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
