"""Whether smoothed readings stay calibrated: held-out faces in front of a shaking, noisy camera.

    python -m train.experiments.smoothing --model ferplus-int8

Each face of FERPlus valid becomes half a second of video at 30 frames per second; every frame is
randomly shifted, turned, scaled and lit, and has noise. The metrics are computed frame by frame
over all faces, from the fourth frame on, and averaged: pooling the frames of a face would favour
noisier readings, which scatter over more bins. ``rankotom_edge/readings/smoothing.py`` quotes the
table.
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
from calib.reports.number_text import percent
from calib.reports.widgets import plain_table
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.readings.smoothing import Smoother, label_changes_per_minute
from train.data.crops import load_crops
from train.data.datasets import data_folder, load_dataset

FPS = 30
FRAMES = 15
WARM_UP = 3  # frames before the average has anything to average
RESAMPLES = 200

Array = NDArray[np.float64]
Labels = NDArray[np.int64]


class FrameMetrics(NamedTuple):
    ece: float
    aece: float
    nll: float
    accuracy: float
    confidence: float


def shake(face: NDArray[np.uint8], frames: int, random: np.random.Generator) -> NDArray[np.uint8]:
    """Video of a face (channels, size, size); how much it shakes is chosen by eye."""
    size = face.shape[-1]
    picture = np.ascontiguousarray(face.transpose(1, 2, 0))
    video = []
    for _ in range(frames):
        right, down, scale, degrees, gain, light = random.normal(0, [1.2, 1.2, 0.03, 3, 0.08, 8])
        transform = cv2.getRotationMatrix2D(((size - 1) / 2, (size - 1) / 2), degrees, 1 + scale)
        transform[:, 2] += right, down
        moved = cv2.warpAffine(picture, transform, (size, size), borderMode=cv2.BORDER_REPLICATE)
        moved = moved.reshape(picture.shape)  # OpenCV drops a single channel
        noise = random.normal(0, 5, moved.shape)
        video.append(np.clip(moved * (1 + gain) + light + noise, 0, 255).astype(np.uint8))
    return np.ascontiguousarray(np.array(video).transpose(0, 3, 1, 2))


def classify_videos(
    classifier: Classifier, faces: NDArray[np.uint8], frames: int = FRAMES, seed: int = 0
) -> Array:
    """The probabilities of each frame of each face's video: (faces, frames, k)."""
    random = np.random.default_rng(seed)
    return np.array(
        [
            classifier.classify(shake(face, frames, random)).probabilities.astype(np.float64)
            for face in faces
        ]
    )


def smooth(sequence: Array, fps: float = FPS) -> Array:
    smoother = Smoother()
    return np.array([smoother.update(1, row, index / fps) for index, row in enumerate(sequence)])


def running_means(sequence: Array) -> Array:
    """The mean of the probabilities so far: the simplest smoothing, for comparison."""
    counts = np.arange(1, len(sequence) + 1)[:, np.newaxis]
    means: Array = sequence.cumsum(axis=0) / counts
    return means


def measure(sequences: Array, labels: Labels) -> FrameMetrics:
    """The mean over frames of each metric over all faces."""
    rows = []
    for frame in range(WARM_UP, sequences.shape[1]):
        probabilities = sequences[:, frame]
        confidence = probabilities.max(axis=1)
        correct = probabilities.argmax(axis=1) == labels
        errors = ece(confidence, correct), adaptive_ece(confidence, correct)
        means = float(correct.mean()), float(confidence.mean())
        rows.append((*errors, nll(probabilities, labels), *means))
    return FrameMetrics(*np.mean(rows, axis=0).tolist())


def calibration_changes(
    before: Array, after: Array, labels: Labels, resamples: int = RESAMPLES
) -> tuple[Array, Array]:
    """The changes of ECE and AECE: (low, value, high) each, with the 95 % bootstrap interval."""

    def change(rows: Labels) -> tuple[float, float]:
        was, now = (measure(each[rows], labels[rows]) for each in (before, after))
        return now.ece - was.ece, now.aece - was.aece

    random, count = np.random.default_rng(0), len(labels)
    drawn = [change(random.integers(0, count, count)) for _ in range(resamples)]
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    for_ece, for_aece = np.stack([low, change(np.arange(count)), high], axis=1)
    return for_ece, for_aece


def flicker(sequences: Array, fps: float = FPS) -> float:
    """Label changes per minute, the mean over faces."""
    times = np.arange(sequences.shape[1]) / fps
    return float(np.mean([label_changes_per_minute(sequence, times) for sequence in sequences]))


def main(
    model: str = "ferplus-int8",
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
    every: Annotated[int, typer.Option(min=1, help="Use only every n-th face.")] = 1,
) -> None:
    """Print calibration and flicker of raw and smoothed readings of shaking faces."""
    faces = load_dataset("ferplus", data_folder(data), "valid")
    assert faces.labels is not None
    artifact = load_artifact(model)
    crop = artifact.card.crop
    pixels = load_crops(faces, crop.size, crop.channels, None, data_folder(None) / "framed")
    labels = faces.labels[::every]
    with Classifier(artifact) as classifier:
        raw = classify_videos(classifier, pixels[::every])
    readings = {
        "raw": raw,
        "smoothed": np.array([smooth(sequence) for sequence in raw]),
        "mean of p": np.array([running_means(sequence) for sequence in raw]),
    }
    columns = ("ECE", "AECE", "NLL", "accuracy", "confidence", "changes per minute")
    table = plain_table(("", "left"), *((name, "right") for name in columns))
    for name, sequences in readings.items():
        metrics = measure(sequences, labels)
        table.add_row(
            name,
            percent(metrics.ece, 2),
            percent(metrics.aece, 2),
            f"{metrics.nll:.3f}",
            percent(metrics.accuracy, 1),
            percent(metrics.confidence, 1),
            f"{flicker(sequences):.0f}",
        )
    console = Console()
    console.print(f"{model} on {len(labels):,} faces of {faces.name}, {FRAMES} frames each")
    console.print(table)
    for name in ("smoothed", "mean of p"):
        changes = calibration_changes(raw, readings[name], labels)
        for metric, (low, value, high) in zip(("ECE", "AECE"), changes, strict=True):
            change = f"{metric} {100 * value:+.2f} points ({100 * low:+.2f} to {100 * high:+.2f})"
            console.print(f"{name} compared with raw: {change}")


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
