"""Whether smoothed readings mean what raw ones do: held-out faces before a shaking, noisy camera.

    python -m train.experiments.smoothing --model ferplus-int8

Each face of FERPlus valid is filmed for half a second at 30 frames a second, a little shifted,
turned, scaled, lit and noisy in each frame. Of each of the frames that follow the first tenth of a
second one figure is taken over all faces, as all frames of a face together would let the noisier
readings look better for scattering over more bins; the table has their mean.
``rankotom_edge/readings/smoothing.py`` quotes it.
"""

from pathlib import Path
from typing import Annotated, NamedTuple

import cv2
import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from calib.errors import exit_on_error
from calib.metrics import adaptive_ece, ece, nll
from calib.reports.widgets import figure_text, plain_table
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.readings.smoothing import Smoother, label_changes_per_minute
from train.data.crops import load_crops
from train.data.datasets import data_folder, load_dataset

FPS = 30
FRAMES = 15
SETTLED = 3  # frames after which the average is one
RESAMPLES = 200

Array = NDArray[np.float64]
Labels = NDArray[np.int64]


class Figures(NamedTuple):
    ece: float
    aece: float
    nll: float
    accuracy: float
    confidence: float


def shaken(face: NDArray[np.uint8], frames: int, random: np.random.Generator) -> NDArray[np.uint8]:
    """The face (channels, size, size) in each frame a little shifted, turned, scaled, lit and
    noisy."""
    size = face.shape[-1]
    whole = np.ascontiguousarray(face.transpose(1, 2, 0))
    shown = []
    for _ in range(frames):
        right, down, scale, degrees, gain, light = random.normal(0, [1.2, 1.2, 0.03, 3, 0.08, 8])
        moved = cv2.getRotationMatrix2D(((size - 1) / 2, (size - 1) / 2), degrees, 1 + scale)
        moved[:, 2] += right, down
        picture = cv2.warpAffine(whole, moved, (size, size), borderMode=cv2.BORDER_REPLICATE)
        picture = picture.reshape(whole.shape)  # OpenCV drops a single channel
        grain = random.normal(0, 5, picture.shape)
        shown.append(np.clip(picture * (1 + gain) + light + grain, 0, 255).astype(np.uint8))
    return np.ascontiguousarray(np.array(shown).transpose(0, 3, 1, 2))


def filmed(
    classifier: Classifier, faces: NDArray[np.uint8], frames: int = FRAMES, seed: int = 0
) -> Array:
    """What the model says of each frame of each face: (faces, frames, k)."""
    random = np.random.default_rng(seed)
    return np.array(
        [
            classifier.classify(shaken(face, frames, random)).probabilities.astype(np.float64)
            for face in faces
        ]
    )


def smoothed(sequence: Array, fps: float = FPS) -> Array:
    smoother = Smoother()
    return np.array([smoother.update(1, row, index / fps) for index, row in enumerate(sequence)])


def running_means(sequence: Array) -> Array:
    """Of the probabilities themselves: the plain way to hold bars still."""
    counts = np.arange(1, len(sequence) + 1)[:, np.newaxis]
    means: Array = sequence.cumsum(axis=0) / counts
    return means


def figures(sequences: Array, labels: Labels) -> Figures:
    """The mean over the settled frames of what each says over all faces."""
    rows = []
    for frame in range(SETTLED, sequences.shape[1]):
        said = sequences[:, frame]
        sure, right = said.max(axis=1), said.argmax(axis=1) == labels
        errors = ece(sure, right), adaptive_ece(sure, right), nll(said, labels)
        rows.append((*errors, float(right.mean()), float(sure.mean())))
    return Figures(*np.mean(rows, axis=0).tolist())


def changes(
    before: Array, after: Array, labels: Labels, resamples: int = RESAMPLES
) -> tuple[Array, Array]:
    """The change of ECE and AECE with their 95 % intervals: (low, value, high) each, by drawing
    faces anew."""
    random = np.random.default_rng(0)
    drawn = []
    for _ in range(resamples):
        rows = random.integers(0, len(labels), len(labels))
        was, is_now = (figures(each[rows], labels[rows]) for each in (before, after))
        drawn.append((is_now.ece - was.ece, is_now.aece - was.aece))
    was, is_now = figures(before, labels), figures(after, labels)
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    return (
        np.array([low[0], is_now.ece - was.ece, high[0]]),
        np.array([low[1], is_now.aece - was.aece, high[1]]),
    )


def flicker(sequences: Array, fps: float = FPS) -> float:
    """Label changes a minute."""
    times = np.arange(sequences.shape[1]) / fps
    return float(np.mean([label_changes_per_minute(sequence, times) for sequence in sequences]))


def main(
    model: str = "ferplus-int8",
    data: Annotated[Path | None, typer.Option(help="Folder of the data sets.")] = None,
    every: Annotated[int, typer.Option(min=1, help="Take each so manieth face.")] = 1,
) -> None:
    """Print how calibrated raw and smoothed readings of shaken faces are, and how they flicker."""
    faces = load_dataset("ferplus", data_folder(data), "valid")
    assert faces.labels is not None
    artifact = load_artifact(model)
    crop = artifact.card.crop
    pixels = load_crops(faces, crop.size, crop.channels, None, data_folder(None) / "framed")[
        ::every
    ]
    labels = faces.labels[::every]
    with Classifier(artifact) as classifier:
        raw = filmed(classifier, pixels)
    ways = {
        "raw": raw,
        "smoothed": np.array([smoothed(sequence) for sequence in raw]),
        "mean of p": np.array([running_means(sequence) for sequence in raw]),
    }
    table = plain_table(
        ("", "left"),
        *((name, "right") for name in ("ECE", "AECE", "NLL", "right", "sure", "changes a minute")),
    )
    for name, sequences in ways.items():
        found = figures(sequences, labels)
        table.add_row(
            name,
            figure_text(found.ece, 2),
            figure_text(found.aece, 2),
            f"{found.nll:.3f}",
            figure_text(found.accuracy, 1),
            figure_text(found.confidence, 1),
            f"{flicker(sequences):.0f}",
        )
    console = Console()
    console.print(f"{model} on {len(labels):,} faces of {faces.name}, {FRAMES} frames each")
    console.print(table)
    for name in ("smoothed", "mean of p"):
        for what, (low, value, high) in zip(
            ("ECE", "AECE"), changes(raw, ways[name], labels), strict=True
        ):
            words = f"{what} {100 * value:+.2f} points ({100 * low:+.2f} to {100 * high:+.2f})"
            console.print(f"{name} against raw: {words}")


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
