"""Accuracy and confidence on damaged faces: small, blurred, dark, flat, overexposed, covered.

    python -m train.experiments.damage --model ferplus-fp32

The gap is what the model is overconfident by, in points. The network is trained to be less
confident of damaged faces, so it should be small in every row. ``quality`` is the median of the
part of rankotom_edge/faces/quality.py that should notice; a poor one is named as the reason where a
reading is unsure. Measured on the choosing half of FERPlus valid, unless ``--half report``.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from calib.errors import exit_on_error
from calib.reports.number_text import percent
from calib.reports.widgets import plain_table
from rankotom_edge.faces.crop import crop
from rankotom_edge.faces.quality import POOR, measure_quality
from rankotom_edge.frame import Image
from rankotom_edge.model.artifact import Artifact, load_artifact
from rankotom_edge.model.classifier import Classifier
from train.data.crops import read_picture
from train.data.damage import (
    Damage,
    add_noise,
    blur,
    cover_with,
    darken,
    in_turn,
    motion_blur,
    overexpose,
    reduce_contrast,
    shrink,
)
from train.data.datasets import FaceSet, Half, data_folder, load_dataset, validation_half
from train.data.face_covers import COVERS, face_at

# By the component of Quality that should notice; none notices a cover.
DAMAGES: dict[str, dict[str, Damage]] = {
    "size": {f"{width} pixels wide": shrink(width) for width in (32, 24, 20, 16, 13)},
    "sharpness": {f"blur of {pixels:g} px": blur(pixels) for pixels in (0.7, 1, 1.5, 2)}
    | {
        f"motion by {pixels} px, {degrees} deg": motion_blur(pixels, degrees)
        for pixels in (3, 5, 7, 9)
        for degrees in (0, 45, 90)
    }
    | {"noise": add_noise(4), "blur of 2 px, noise": in_turn(blur(2), add_noise(4))},
    "light": {f"1/{times:g} of the light": darken(times) for times in (2, 4, 8, 11, 14, 20, 28)},
    "contrast": {
        f"{share} % of the contrast": reduce_contrast(share / 100) for share in (50, 30, 25, 20, 10)
    },
    "glare": {f"{times:g} times the light": overexpose(times) for times in (1.5, 2, 2.5, 3, 4)},
    "whole": {f"covered: {name}": cover_with(cover) for name, cover in COVERS.items()},
}


@dataclass(frozen=True)
class DamageResult:
    """Over all faces, with one damage."""

    accuracy: float
    confidence: float
    component: float  # median of the Quality component that should notice
    poor: float  # share of the crops called poor, for any reason

    @property
    def overconfidence(self) -> float:
        return self.confidence - self.accuracy


def measure(
    classifier: Classifier, pictures: list[Image], labels: NDArray[np.int64], component: str
) -> DamageResult:
    contract = classifier.artifact.card.crop
    crops, qualities = [], []
    for picture in pictures:
        face = face_at(contract.framing.points * len(picture), len(picture))
        crops.append(crop(picture, face, contract.framing, contract.size, contract.channels))
        qualities.append(measure_quality(picture, face, crops[-1]))
    probabilities = classifier.classify(np.stack(crops)).probabilities
    return DamageResult(
        accuracy=float(np.mean(probabilities.argmax(axis=1) == labels)),
        confidence=float(probabilities.max(axis=1).mean()),
        component=float(np.median([getattr(quality, component) for quality in qualities])),
        poor=float(np.mean([quality.score < POOR for quality in qualities])),
    )


def measure_all(
    artifact: Artifact, faces: FaceSet, threads: int
) -> dict[tuple[str, str], DamageResult]:
    """By Quality component and damage; ("", "as they are") is without damage."""
    assert faces.labels is not None
    pictures = [read_picture(file) for file in faces.files]
    results: dict[tuple[str, str], DamageResult] = {}
    with Classifier(artifact, threads) as classifier:
        results["", "as they are"] = measure(classifier, pictures, faces.labels, "score")
        for component, damages in DAMAGES.items():
            for name, damage in damages.items():
                damaged = [damage(picture) for picture in pictures]
                results[component, name] = measure(classifier, damaged, faces.labels, component)
    return results


def main(
    model: str = "ferplus-fp32",
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
    half: Annotated[Half, typer.Option(help="Half of FERPlus valid.")] = "choose",
    every: Annotated[int, typer.Option(min=1, help="Use only every n-th face.")] = 1,
    threads: int = 2,
) -> None:
    """Print accuracy, confidence, their gap, crop quality and the share called poor."""
    faces = validation_half(load_dataset("ferplus", data_folder(data), "valid"), half)
    sample = faces.subset(np.arange(0, len(faces), every))
    table = plain_table(
        ("faces", "left"),
        ("accuracy", "right"),
        ("confidence", "right"),
        ("gap", "right"),
        ("quality", "right"),
        ("poor", "right"),
    )
    for (component, name), result in measure_all(load_artifact(model), sample, threads).items():
        table.add_row(
            name,
            percent(result.accuracy, 1),
            percent(result.confidence, 1),
            f"{100 * result.overconfidence:+.1f}",
            f"{component} {result.component:.2f}".strip(),
            percent(result.poor, 0),
        )
    Console().print(f"{model} on {len(sample):,} faces of {faces.name}")
    Console().print(table)


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
