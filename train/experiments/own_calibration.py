"""What calibrating on a user's own labels does: FERPlus plays the users.

    python -m train.experiments.own_calibration --model ferplus-int8
    python -m train.experiments.own_calibration --raters

A user has a camera (the faces as they are, dark, blurred, in coloured light, or with another mix of
expressions; logits times 1.5 are a model that is too sure). Of 400 faces some are chosen as the
program chooses them (rankotom_edge/labelling/choose.py) and labelled. Each of two raters gives the
vote of one of the face's ten annotators, who may not have been able to tell. The calibration is
tried on these labels, and applied to the user's other faces where the gate lets it through. There
it is measured against the majority of all ten. ``not worse``: the ECE of the other faces rose by at
most half a point, the limit for a smaller model (calib/limits.py); a refusal changes nothing.

``--raters`` prints the constants of calib/rater.py, measured on FERPlus train.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from calib.emotions import EMOTIONS
from calib.errors import exit_on_error
from calib.limits import DEFAULT_LIMITS
from calib.metrics import ece, nll
from calib.own_calibration import OwnCalibration
from calib.reports.number_text import percent, points
from calib.reports.widgets import plain_table
from calib.try_calibration import Decision, LabelledSample, decide
from rankotom_edge.faces.crop import crop
from rankotom_edge.frame import Image
from rankotom_edge.labelling.choose import choose_rows
from rankotom_edge.model.artifact import Artifact, load_artifact
from rankotom_edge.model.classifier import Classifier
from train.data.crops import read_picture
from train.data.damage import Damage, blur, darken
from train.data.datasets import FaceSet, Half, data_folder, load_dataset, validation_half
from train.data.face_covers import face_at

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ANNOTATORS = 10  # of each FERPlus face
FOUND = 400  # faces of a user, of which some are chosen: an hour or two in front of a camera
BATCH = 64
SIZES = (20, 50, 100, 200)
RESAMPLES = 100
# The share of each emotion's faces that a user has who is often surprised, sad or angry, and seldom
# neutral or happy.
ANOTHER_MIX = (0.15, 0.1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)


def warm_light(face: Image) -> Image:
    """Coloured light; where the red is too bright, the sensor clips it."""
    colour = face * np.array([0.5, 1.0, 1.8])  # blue, green, red
    return np.asarray(np.clip(colour, 0, 255), np.uint8)


CAMERAS: dict[str, Damage] = {
    "as shipped": lambda face: face,
    "dark": darken(14),
    "blurred": blur(2),
    "warm light": warm_light,
}


@dataclass(frozen=True, eq=False)
class Camera:
    """The faces that a user's camera sees, and what ten annotators said of them."""

    name: str
    logits: FloatArray  # divided by the model's temperature
    labels: IntArray
    votes: IntArray  # (n, k + 1): the last column counts who could not tell

    def with_logits_times(self, factor: float, name: str) -> "Camera":
        return Camera(name, self.logits * factor, self.labels, self.votes)

    def subset(self, rows: IntArray) -> "Camera":
        return Camera(self.name, self.logits[rows], self.labels[rows], self.votes[rows])


@dataclass(frozen=True)
class User:
    """What was decided for one user, and the user's other faces before and after it."""

    decision: Decision
    ece: tuple[float, float]
    nll: tuple[float, float]

    @property
    def acted(self) -> bool:
        return self.decision.verdict.passed


def read_faces(artifact: Artifact, faces: FaceSet, threads: int) -> Iterator[Camera]:
    assert faces.labels is not None
    assert faces.votes is not None
    contract = artifact.card.crop
    pictures = [read_picture(file) for file in faces.files]
    counts = faces.votes.astype(np.int64)
    unknown = np.maximum(ANNOTATORS - counts.sum(axis=1, keepdims=True), 0)
    votes = np.concatenate([counts, unknown], axis=1)
    with Classifier(artifact, threads) as classifier:
        for name, change in CAMERAS.items():
            seen = [change(picture) for picture in pictures]
            crops = [
                crop(
                    picture,
                    face_at(contract.framing.points * len(picture), len(picture)),
                    contract.framing,
                    contract.size,
                    contract.channels,
                )
                for picture in seen
            ]
            logits = [
                classifier.classify(np.stack(crops[start : start + BATCH])).logits
                for start in range(0, len(crops), BATCH)
            ]
            scaled = np.concatenate(logits).astype(np.float64) / artifact.card.temperature
            yield Camera(name, scaled, faces.labels, votes)


def all_cameras(artifact: Artifact, faces: FaceSet, threads: int) -> list[Camera]:
    seen = list(read_faces(artifact, faces, threads))
    shipped = seen[0]
    random = np.random.default_rng(0)
    kept = random.random(len(faces)) < np.array(ANOTHER_MIX)[shipped.labels]
    mixed = shipped.subset(np.flatnonzero(kept))
    return [
        *seen,
        Camera("another mix", mixed.logits, mixed.labels, mixed.votes),
        *(each.with_logits_times(1.5, f"{each.name}, 1.5 times too sure") for each in seen[:3]),
        shipped.with_logits_times(1 / 1.5, "as shipped, not sure enough (1/1.5)"),
    ]


def ask_raters(votes: IntArray, raters: int, random: np.random.Generator) -> IntArray:
    """Each rater is one annotator of the face; a face that nobody could tell has no vote."""
    drawn = [random.multivariate_hypergeometric(each, raters) for each in votes]
    return np.stack(drawn)[:, :-1].astype(np.int64)


def play_user(camera: Camera, faces: int, raters: int, seed: int) -> User:
    random = np.random.default_rng(seed)
    shipped = OwnCalibration()
    found = random.permutation(len(camera.labels))[:FOUND]
    names = [str(number) for number in found]
    chosen = found[choose_rows(camera.logits[found], names, faces)]
    votes = ask_raters(camera.votes[chosen], raters, random)
    sample = LabelledSample.of(camera.logits[chosen], votes, np.arange(len(chosen)))
    decision = decide(sample, RESAMPLES, seed)
    others = camera.subset(np.setdiff1d(np.arange(len(camera.labels)), chosen))
    used = decision.calibration if decision.verdict.passed else shipped
    before, after = _measure(others, shipped), _measure(others, used)
    return User(decision, (before[0], after[0]), (before[1], after[1]))


def _measure(faces: Camera, calibration: OwnCalibration) -> tuple[float, float]:
    rows = calibration.apply(faces.logits)
    confidence = np.minimum(rows.max(axis=1), 1.0)
    return ece(confidence, rows.argmax(axis=1) == faces.labels), nll(rows, faces.labels)


def share(users: list[User], test: Callable[[User], bool]) -> float:
    return sum(map(test, users)) / len(users)


def not_worse(user: User) -> bool:
    return user.ece[1] <= user.ece[0] + DEFAULT_LIMITS.ece


def table_of(rows: list[tuple[str, int, list[User]]]) -> Table:
    table = plain_table(
        ("user", "left"),
        ("faces", "right"),
        ("acted", "right"),
        ("not worse", "right"),
        ("not at all", "right"),
        ("ECE before", "right"),
        ("after", "right"),
        ("where it acted", "right"),
        ("NLL", "right"),
        ("T", "right"),
        ("offsets", "right"),
    )
    for name, faces, users in rows:
        acting = [user for user in users if user.acted]
        table.add_row(
            name,
            f"{faces}",
            percent(share(users, lambda user: user.acted), 0),
            percent(share(users, not_worse), 0),
            percent(share(users, lambda user: user.ece[1] <= user.ece[0]), 0),
            percent(float(np.mean([user.ece[0] for user in users]))),
            percent(float(np.mean([user.ece[1] for user in users]))),
            percent(float(np.mean([user.ece[1] for user in acting])) if acting else None),
            points(float(np.mean([user.nll[1] - user.nll[0] for user in users])) / 100, 3),
            f"{np.median([user.decision.calibration.temperature for user in users]):.2f}",
            percent(share(users, lambda user: bool(user.decision.calibration.offsets)), 0),
        )
    return table


def print_raters(console: Console, faces: FaceSet) -> None:
    """P(vote | majority), and how often two annotators agree, by the majority's label."""
    assert faces.labels is not None
    assert faces.votes is not None
    given = faces.votes.sum(axis=1)
    pairs = (faces.votes * (faces.votes - 1)).sum(axis=1) / np.maximum(given * (given - 1), 1)
    for label, name in enumerate(EMOTIONS):
        mine = faces.votes[faces.labels == label].sum(axis=0)
        numbers = ", ".join(f"{each:.3f}" for each in mine / mine.sum())
        agree = pairs[(faces.labels == label) & (given >= 2)].mean()
        console.print(f"({numbers}),  # {name}: two agree {agree:.3f}", highlight=False)


def main(
    model: str = "ferplus-int8",
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
    half: Annotated[Half, typer.Option(help="Half of FERPlus valid.")] = "choose",
    users: Annotated[int, typer.Option(min=1, help="Users of each kind.")] = 100,
    raters_each: Annotated[int, typer.Option(min=1, max=ANNOTATORS, help="Of each face.")] = 2,
    raters: Annotated[bool, typer.Option(help="Print the rater model instead.")] = False,
    threads: int = 2,
) -> None:
    """Print what the gate did for each kind of user, and what became of their other faces."""
    console = Console(width=None if Console().is_terminal else 140)
    folder = data_folder(data)
    if raters:
        print_raters(console, load_dataset("ferplus", folder, "train"))
        return
    faces = validation_half(load_dataset("ferplus", folder, "valid"), half)
    rows = [
        (camera.name, size, [play_user(camera, size, raters_each, seed) for seed in range(users)])
        for camera in all_cameras(load_artifact(model), faces, threads)
        for size in SIZES
    ]
    console.print(
        f"{model}, {faces.name}, {users} users of each kind, {raters_each} raters for each face"
    )
    console.print(table_of(rows))


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
