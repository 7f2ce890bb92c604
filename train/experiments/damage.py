"""How a model fares with worse faces than it was measured on: small, blurred, dark, flat, bright,
covered.

    python -m train.experiments.damage --model ferplus-fp32

Confidence is calibrated for faces like FERPlus's. Where a damage makes a model surer than it is
right, ``rankotom_edge/faces/quality.py`` calls the crop poor; its limits are from this table, on the half
of FERPlus valid that choices are made on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from calib.errors import exit_on_error
from calib.reports.widgets import figure_text, plain_table
from rankotom_edge.faces.crop import FERPLUS_FRAMING, crop
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import POOR, measure_quality
from rankotom_edge.frame import Image
from rankotom_edge.model.artifact import Artifact, load_artifact
from rankotom_edge.model.classifier import Classifier
from train.data.crops import read_picture
from train.data.datasets import FaceSet, data_folder, load_dataset, validation_half
from train.experiments.covered_mouths import COVERS, Cover, covered_small

Damage = Callable[[Image], Image]


def darkened(times: float) -> Damage:
    return lambda face: (face / times).astype(np.uint8)


def blurred(pixels: float) -> Damage:
    return lambda face: np.asarray(cv2.GaussianBlur(face, (0, 0), pixels), np.uint8)


def moved(pixels: int, degrees: float) -> Damage:
    """As by a motion while the shutter is open."""
    way = np.zeros((pixels, pixels), np.float32)
    way[pixels // 2] = 1
    turn = cv2.getRotationMatrix2D((pixels // 2, pixels // 2), degrees, 1)
    turned = np.asarray(cv2.warpAffine(way, turn, (pixels, pixels)), np.float32)
    kernel = turned / turned.sum()
    return lambda face: np.asarray(
        cv2.filter2D(face, -1, kernel, borderType=cv2.BORDER_REPLICATE), np.uint8
    )


def grainy(level: float, before: Damage) -> Damage:
    """Noise of so many grey levels over another damage."""
    random = np.random.default_rng(0)

    def damaged(face: Image) -> Image:
        blurry = before(face)
        grain = np.repeat(random.normal(0, level, (*blurry.shape[:2], 1)), blurry.shape[2], axis=2)
        return np.clip(blurry + grain, 0, 255).astype(np.uint8)

    return damaged


def shrunk(width: int) -> Damage:
    return lambda face: np.asarray(
        cv2.resize(face, (width, width), interpolation=cv2.INTER_AREA), np.uint8
    )


def flattened(share: float) -> Damage:
    return lambda face: (face.mean() + share * (face - face.mean())).astype(np.uint8)


def burnt(times: float) -> Damage:
    return lambda face: np.clip(times * face.astype(np.float32), 0, 255).astype(np.uint8)


def hidden_by(cover: Cover) -> Damage:
    """Something drawn before the face (``train.experiments.covered_mouths``), on each a little otherwise."""
    random = np.random.default_rng(0)
    return lambda face: covered_small(face, FERPLUS_FRAMING.points, cover, random)


# By the part of the quality that should notice.
DAMAGES: dict[str, dict[str, Damage]] = {
    "size": {f"{width} pixels wide": shrunk(width) for width in (32, 24, 20, 16, 13)},
    "sharpness": {f"blur of {pixels:g} px": blurred(pixels) for pixels in (0.7, 1, 1.5, 2)}
    | {
        f"motion by {pixels} px, {degrees} deg": moved(pixels, degrees)
        for pixels in (3, 5, 7, 9)
        for degrees in (0, 45, 90)
    }
    | {"noise": grainy(4, lambda face: face), "blur of 2 px, noise": grainy(4, blurred(2))},
    "light": {f"1/{times:g} of the light": darkened(times) for times in (2, 4, 8, 11, 14, 20, 28)},
    "contrast": {
        f"{percent} % of the contrast": flattened(percent / 100) for percent in (50, 30, 25, 20, 10)
    },
    "glare": {f"{times:g} times the light": burnt(times) for times in (1.5, 2, 2.5, 3, 4)},
    "whole": {f"before it: {name}": hidden_by(cover) for name, cover in COVERS.items()},
}


@dataclass(frozen=True)
class Fared:
    """Of all faces, damaged alike."""

    accuracy: float
    confidence: float
    noticed: float  # the middle of the quality's part
    poor: float  # share of the faces whose crop is called poor, for whatever reason

    @property
    def overconfidence(self) -> float:
        return self.confidence - self.accuracy


def fare(
    classifier: Classifier, pictures: list[Image], labels: NDArray[np.int64], part: str
) -> Fared:
    contract = classifier.artifact.card.crop
    crops, qualities = [], []
    for picture in pictures:
        face = framed_face(contract.framing.points, len(picture))
        crops.append(crop(picture, face, contract.framing, contract.size, contract.channels))
        qualities.append(measure_quality(picture, face, crops[-1]))
    probabilities = classifier.classify(np.stack(crops)).probabilities
    return Fared(
        accuracy=float(np.mean(probabilities.argmax(axis=1) == labels)),
        confidence=float(probabilities.max(axis=1).mean()),
        noticed=float(np.median([getattr(quality, part) for quality in qualities])),
        poor=float(np.mean([quality.score < POOR for quality in qualities])),
    )


def framed_face(framing: NDArray[np.float64], side: int) -> Face:
    """A face that fills a picture of so many pixels as the contract has it."""
    left, right, mouth = ((side * x, side * y) for x, y in framing.tolist())
    nose = ((left[0] + right[0]) / 2, (left[1] + mouth[1]) / 2)
    return Face((0.0, 0.0, side, side), left, right, nose, mouth, score=0.9)


def fares(artifact: Artifact, faces: FaceSet, threads: int) -> dict[tuple[str, str], Fared]:
    """By the part of the quality and the damage; ("", "as they are") is without any."""
    assert faces.labels is not None
    pictures = [read_picture(file) for file in faces.files]
    found: dict[tuple[str, str], Fared] = {}
    with Classifier(artifact, threads) as classifier:
        found["", "as they are"] = fare(classifier, pictures, faces.labels, "score")
        for part, damages in DAMAGES.items():
            for words, damage in damages.items():
                damaged = [damage(picture) for picture in pictures]
                found[part, words] = fare(classifier, damaged, faces.labels, part)
    return found


def main(
    model: str = "ferplus-fp32",
    data: Annotated[Path | None, typer.Option(help="Folder of the data sets.")] = None,
    every: Annotated[int, typer.Option(min=1, help="Take each so manieth face.")] = 1,
    threads: int = 2,
) -> None:
    """Print how often the model is right, and how sure it is, with each damage."""
    faces = validation_half(load_dataset("ferplus", data_folder(data), "valid"), "choose")
    assert faces.labels is not None
    few = FaceSet(faces.name, faces.files[::every], faces.classes, faces.labels[::every])
    table = plain_table(
        ("faces", "left"),
        ("right", "right"),
        ("sure", "right"),
        ("too sure", "right"),
        ("quality's part", "right"),
        ("called poor", "right"),
    )
    for (part, words), fared in fares(load_artifact(model), few, threads).items():
        table.add_row(
            words,
            figure_text(fared.accuracy, 1),
            figure_text(fared.confidence, 1),
            f"{100 * fared.overconfidence:+.1f}",
            f"{part} {fared.noticed:.2f}".strip(),
            figure_text(fared.poor, 0),
        )
    Console().print(f"{model} on {len(few.files):,} faces of {faces.name}")
    Console().print(table)


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
