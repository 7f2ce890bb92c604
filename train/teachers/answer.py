"""What the teachers say of every training face, asked once and kept.

    python -m train.teachers.answer runs/teacher-dlib-seed0 runs/teacher-faceres-seed0 ferplus-fp32

Each teacher sees the clean face and its mirror image; the answer is the mean of the teachers'
probabilities, as they were trained (a student learns from them beside the votes, which no
temperature has touched either). One file for each teacher and data set, named by the SHA-256 of the
teacher and of the faces: what changed is asked again, the rest is read. ``answers/teachers.json``
says who the teachers are; a training reads that.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from calib.errors import RankotomError
from calib.files import replacing
from calib.temperature import softmax
from rankotom_edge.crop import FERPLUS_FRAMING
from train.align import framed
from train.datasets import data_folder, load_dataset
from train.script import run as run_script
from train.teachers.members import Faces, Member, find_member
from train.teachers.recogniser import CROP

TEACHERS = "teachers.json"
AGAIN = "Ask the teachers again: python -m train.teachers.answer"

Probabilities = NDArray[np.float32]


def ask(members: Sequence[Member], name: str, faces: Faces, cache: Path) -> None:
    """Each teacher's probabilities for these faces, where they aren't known yet."""
    cache.mkdir(parents=True, exist_ok=True)
    for member in members:
        path = _file(cache, member.sha256, name, faces)
        if not path.exists():
            said = softmax(member.logits(faces)).astype(np.float16)
            with replacing(path) as written:
                np.savez(written, probabilities=said)
    told = [{"name": member.name, "sha256": member.sha256} for member in members]
    with replacing(cache / TEACHERS) as written:
        written.write_text(json.dumps(told, indent=1) + "\n")


def answers(name: str, faces: Faces, cache: Path) -> Probabilities:
    """The mean of the teachers' probabilities, (n, k), for faces that they were asked about."""
    try:
        teachers = json.loads((cache / TEACHERS).read_text())
    except (OSError, ValueError) as error:
        raise RankotomError(f"No teacher has answered yet in {cache}. {AGAIN}") from error
    said = [_said(_file(cache, each["sha256"], name, faces), each["name"]) for each in teachers]
    total = np.sum(said, axis=0, dtype=np.float32)
    return np.asarray(total / total.sum(axis=1, keepdims=True), dtype=np.float32)


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
    folder = data_folder(data)
    members = [find_member(each) for each in teachers]
    for name, framing in (("ferplus", None), ("lfw", FERPLUS_FRAMING)):
        faces = load_dataset("lfw" if name == "lfw" else "ferplus", folder, "train")
        pixels = framed(faces, CROP, 1, framing, folder / "framed")
        ask(members, faces.name, pixels, folder / "answers")
        said = answers(faces.name, pixels, folder / "answers")
        mix = "  ".join(f"{share:.3f}" for share in said.mean(axis=0))
        Console().print(f"{faces.name}: {len(said):,} faces, {len(members)} teachers, mix {mix}")


if __name__ == "__main__":
    run_script(main)
