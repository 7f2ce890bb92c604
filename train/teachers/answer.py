"""What the teachers say of every training face, asked once and kept.

    python -m train.teachers.answer runs/teacher-dlib-seed0 runs/teacher-faceres-seed0 ferplus-fp32

Each teacher sees the clean face and its mirror image; the answer is the mean of the teachers'
probabilities at one temperature, fitted on the choosing half of valid. So the answer is how likely
each label is, not how the votes split, and a student who learns its mean over what a spoiled face
may have been is calibrated there too, at a temperature near 1.

There is one file for each teacher and data set, named by the SHA-256 of the teacher and of the
faces: what changed is asked again, the rest is read. ``answers/teachers.json`` says who the
teachers are and at what temperature; a training reads that.
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
from train.teachers.members import Faces, Member, find_member
from train.teachers.recogniser import CROP

TEACHERS = "teachers.json"
AGAIN = "Ask the teachers again: python -m train.teachers.answer"

LEAST = 1e-6  # what float16 may have rounded to 0

Probabilities = NDArray[np.float32]


def ask(members: Sequence[Member], name: str, faces: Faces, cache: Path) -> None:
    """Each teacher's probabilities for these faces, where they aren't known yet."""
    cache.mkdir(parents=True, exist_ok=True)
    for member in members:
        path = _file(cache, member.sha256, name, faces)
        if not path.exists():
            said = softmax(member.logits(faces)).astype(np.float16)
            with replace_file(path) as written:
                np.savez(written, probabilities=said)


def appoint(members: Sequence[Member], temperature: float, cache: Path) -> None:
    """These are the teachers from now on, and this is their temperature together."""
    told = [{"name": member.name, "sha256": member.sha256} for member in members]
    with replace_file(cache / TEACHERS) as written:
        text = json.dumps({"teachers": told, "temperature": temperature}, indent=1)
        written.write_text(text + "\n")


def answers(name: str, faces: Faces, cache: Path) -> Probabilities:
    """The teachers' probabilities together, (n, k), for faces that they were asked about."""
    try:
        told = json.loads((cache / TEACHERS).read_text())
    except (OSError, ValueError) as error:
        raise RankotomError(f"No teacher has answered yet in {cache}. {AGAIN}") from error
    files = [(_file(cache, each["sha256"], name, faces), each["name"]) for each in told["teachers"]]
    mean = mean_logits([_said(file, teacher) for file, teacher in files])
    return softmax(mean, told["temperature"]).astype(np.float32)


def mean_logits(said: Sequence[NDArray[np.floating[Any]]]) -> NDArray[np.float32]:
    """The logarithm of the mean of the probabilities, which a temperature can divide."""
    mean = np.mean(said, axis=0, dtype=np.float32)
    return np.asarray(np.log(np.maximum(mean, LEAST)), np.float32)


def _said(path: Path, teacher: str) -> NDArray[np.float16]:
    try:
        with np.load(path) as stored:
            return np.asarray(stored["probabilities"])
    except (OSError, ValueError, KeyError) as error:
        raise RankotomError(f"{teacher} has not answered for these faces. {AGAIN}") from error


def _file(cache: Path, teacher: str, name: str, faces: Faces) -> Path:
    pixels = hashlib.sha256(faces.tobytes()).hexdigest()
    return cache / f"{name.replace('/', '-')}-{pixels[:12]}-{teacher[:12]}.npz"


def main(
    teachers: Annotated[list[str], typer.Argument(help="Folders of runs, or models.")],
    data: Annotated[Path | None, typer.Option(help="Folder of the data sets.")] = None,
) -> None:
    """Ask the teachers about FERPlus train and LFW."""
    folder, console = data_folder(data), Console()
    members, cache = [find_member(each) for each in teachers], folder / "answers"

    choose = validation_half(load_dataset("ferplus", folder, "valid"), "choose")
    assert choose.labels is not None
    pixels = load_crops(choose, CROP, 1, None, folder / "framed")
    ask(members, choose.name, pixels, cache)
    files = [_file(cache, member.sha256, choose.name, pixels) for member in members]
    logits = mean_logits([_said(file, file.name) for file in files])
    temperature = fit_temperature(logits, choose.labels)
    appoint(members, temperature, cache)
    console.print(f"{len(members)} teachers at a temperature of {temperature:.3f}")

    train, lfw = load_dataset("ferplus", folder, "train"), load_dataset("lfw", folder, "train")
    for faces, framing in ((train, None), (lfw, FERPLUS_FRAMING)):
        pixels = load_crops(faces, CROP, 1, framing, folder / "framed")
        ask(members, faces.name, pixels, cache)
        said = answers(faces.name, pixels, cache)
        mix = "  ".join(
            f"{name} {share:.3f}"
            for name, share in zip(choose.classes, said.mean(axis=0), strict=True)
        )
        console.print(f"{faces.name}: {len(said):,} faces: {mix}")


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
