"""How often a covered mouth is noticed; fits the table of edges that decides it.

    python -m train.experiments.covered_mouths           # each cover, and bare faces
    python -m train.experiments.covered_mouths --fit     # fit the table first

Prints, for each cover that train/data/face_covers.py draws, the share of faces that
rankotom_edge/faces/covered_mouth.py calls covered. ``--fit`` fits its table on FERPlus train and
sets the limit on the choosing half of valid. The reporting half and LFW, whose photographs also
pass the detector, take no part in the fit; but the edge features were chosen from a dozen after
looking at both, so expect slightly less on new faces. ``--without fist,palm`` leaves covers out of
the fit and so shows how often an unforeseen cover is noticed. With ``--every 5``: fists 88 to 92 %,
palms 73 to 83 %; without any kind of hand, one hand 98 to 99 %, two hands 83 to 87 %, fingers 51 to
59 %.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import cv2
import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from calib.errors import exit_on_error
from calib.reports.number_text import percent
from calib.reports.widgets import plain_table
from rankotom_edge.faces.covered_mouth import THRESHOLD, WEIGHT_UNIT, WEIGHTS, lower_edges
from rankotom_edge.faces.crop import FERPLUS_FRAMING, crop
from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.faces.face import Face, nearest_face
from rankotom_edge.faces.second_pass import detect_close_up
from rankotom_edge.frame import Image
from rankotom_edge.geometry import Point
from train.data.crops import read_picture
from train.data.datasets import FaceSet, data_folder, load_dataset, validation_half
from train.data.face_covers import COVERS, MOUTH_COVERS, Cover, draw_cover, draw_cover_on_crop

Array = NDArray[np.float64]

SIZE = 48
BARE = "nothing"
FALSE_ALARMS = 0.02  # of the choosing half, some of whose mouths are covered or out of place
RIDGE = 3.0  # chosen by eye
LFW_EVERY = 15  # 882 photographs


def ferplus_faces(faces: FaceSet, every: int, cover: Cover | None) -> Iterator[Image]:
    """Every n-th face in grey, with the cover drawn on it."""
    for number, file in enumerate(faces.files[::every]):
        picture = read_picture(file)
        if cover is not None:
            random = np.random.default_rng(number)
            picture = draw_cover_on_crop(picture, FERPLUS_FRAMING.points, cover, random)
        yield np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), np.uint8)


class DetectedFace(NamedTuple):
    crop: Image
    score: float  # of the detector


def lfw_faces(
    faces: FaceSet, every: int, detector: FaceDetector
) -> Iterator[dict[str, DetectedFace]]:
    """Every n-th photograph's face, bare and with each cover with which it is still detected."""
    for number, file in enumerate(faces.files[::every]):
        picture = read_picture(file)
        middle = (picture.shape[1] / 2, picture.shape[0] / 2)
        bare = _detect(detector, picture, middle)
        if bare is None:
            continue
        seen = {BARE: DetectedFace(crop(picture, bare, FERPLUS_FRAMING, SIZE, 1)[0], bare.score)}
        for name, cover in COVERS.items():
            drawn = draw_cover(picture, bare, cover, np.random.default_rng(number))
            face = _detect(detector, drawn, middle)
            if face is not None:
                seen[name] = DetectedFace(
                    crop(drawn, face, FERPLUS_FRAMING, SIZE, 1)[0], face.score
                )
        yield seen


def _detect(detector: FaceDetector, picture: Image, middle: Point) -> Face | None:
    far = nearest_face(detector.detect(picture), middle)
    if far is None:
        return None
    return nearest_face(detect_close_up(detector.detect, picture, far), middle)


def fit_weights(bare: Array, hidden: Array, steps: int = 12) -> Array:
    """Logistic regression by Newton's method; the limit takes the place of the intercept."""
    rows = np.vstack([bare, hidden])
    rows = np.hstack([rows, np.ones((len(rows), 1))])
    labels = np.r_[np.zeros(len(bare)), np.ones(len(hidden))]
    ridge = np.diag([*np.full(rows.shape[1] - 1, RIDGE), 0.0])
    weights = np.zeros(rows.shape[1])
    for _ in range(steps):
        probability = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        gradient = rows.T @ (probability - labels) + ridge @ weights
        hessian = (rows * (probability * (1 - probability))[:, None]).T @ rows + ridge
        weights = weights - np.linalg.solve(hessian, gradient)
    return weights[:-1]


def count_edges(faces: Iterable[Image]) -> Array:
    return np.array([lower_edges(face).ravel() for face in faces], np.float64)


def fit_table(
    train: FaceSet, choose: FaceSet, every: int, without: Sequence[str]
) -> tuple[Array, int]:
    """The table in whole numbers, and the limit above which FALSE_ALARMS of bare faces lie."""
    covers = [cover for name, cover in MOUTH_COVERS.items() if name not in without]
    bare = count_edges(ferplus_faces(train, every, None))
    # As many covered faces as bare ones: each cover on an equal part of the faces.
    hidden = [count_edges(ferplus_faces(train, every * len(covers), cover)) for cover in covers]
    table = np.round(WEIGHT_UNIT * fit_weights(bare, np.vstack(hidden)))
    scores = count_edges(ferplus_faces(choose, every, None)) @ table
    return table, math.ceil(float(np.quantile(scores, 1 - FALSE_ALARMS)))


def main(
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
    refit: Annotated[bool, typer.Option("--fit", help="Fit and print the table first.")] = False,
    without: Annotated[str, typer.Option(help="Covers to leave out of the fit: fist,palm")] = "",
    every: Annotated[int, typer.Option(min=1, help="Use only every n-th face.")] = 1,
) -> None:
    """Print how often a mouth is called covered, with each cover and without one."""
    cv2.setNumThreads(1)
    folder, console = data_folder(data), Console()
    valid, lfw = load_dataset("ferplus", folder, "valid"), load_dataset("lfw", folder, "train")
    table, limit = np.asarray(WEIGHTS, np.float64).ravel(), THRESHOLD
    if refit or without:
        train = load_dataset("ferplus", folder, "train")
        table, limit = fit_table(train, validation_half(valid, "choose"), every, without.split(","))
        console.print(np.array2string(table.astype(int).reshape(WEIGHTS.shape), separator=", "))
        console.print(f"limit {limit}")

    def hidden_share(faces: Iterable[Image]) -> str:
        return percent(float(np.mean(count_edges(faces) @ table > limit)), 1)

    with FaceDetector() as detector:
        found = list(lfw_faces(lfw, LFW_EVERY * every, detector))
    report = plain_table(
        ("cover", "left"),
        ("choosing", "right"),
        ("reporting", "right"),
        (f"{len(found):,} of LFW", "right"),
        ("score, p5 to p95", "right"),
        ("score lost", "right"),
    )
    for name, cover in {BARE: None, **COVERS}.items():
        report.add_row(
            name,
            hidden_share(ferplus_faces(validation_half(valid, "choose"), every, cover)),
            hidden_share(ferplus_faces(validation_half(valid, "report"), every, cover)),
            hidden_share(seen[name].crop for seen in found if name in seen),
            _percentiles([seen[name].score for seen in found if name in seen]),
            _percentiles([seen[BARE].score - seen[name].score for seen in found if name in seen]),
        )
    console.print(report)


def _percentiles(values: Sequence[float]) -> str:
    low, high = np.quantile(values, [0.05, 0.95])
    return f"{low:.2f} to {high:.2f}"


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
