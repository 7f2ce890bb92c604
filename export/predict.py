"""Predictions of a model file on a data set; needs no torch, so it also runs on a device."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from calib.arrays import FloatArray, IntArray
from calib.errors import RankotomError
from calib.predictions import Predictions
from rankotom_edge.model.artifact import INPUT, LOGITS, PROBABILITIES, Artifact
from rankotom_edge.model.card import CropContract, FacesUsed
from rankotom_edge.model.onnx_runtime import InferenceSession, open_session
from rankotom_edge.model.target import needs_exact_arithmetic
from train.data.crops import load_crops
from train.data.datasets import FaceSet

BATCH = 64


@dataclass(frozen=True, eq=False)
class LabelledFaces:
    """A data set's faces in the model's crop, and their labels in the model's order."""

    used: FacesUsed
    pixels: NDArray[np.uint8]  # (n, channels, size, size)
    labels: IntArray  # (n,)
    votes: FloatArray | None  # (n, k)


def labelled_faces(
    faces: FaceSet, crop: CropContract, classes: tuple[str, ...], cache: Path
) -> LabelledFaces:
    """``classes`` are the model's; a data set may have fewer of them, but no others."""
    unknown = [name for name in faces.classes if name not in classes]
    if faces.labels is None or unknown:
        found = f"also has {', '.join(unknown)}" if faces.classes else "has no labels"
        raise RankotomError(
            f"{faces.name} cannot measure a model of {', '.join(classes)}: it {found}."
        )
    columns = np.array([classes.index(name) for name in faces.classes], dtype=np.int64)
    labels = columns[faces.labels]
    votes = None
    if faces.votes is not None:
        votes = np.zeros((len(faces), len(classes)))
        votes[:, columns] = faces.votes
    pixels = load_crops(faces, crop.size, crop.channels, None, cache)
    used = FacesUsed(faces.name, len(faces), faces_hash(pixels, labels))
    return LabelledFaces(used, pixels, labels, votes)


def faces_hash(pixels: NDArray[np.uint8], labels: IntArray) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(pixels).tobytes())
    digest.update(labels.astype("<i8").tobytes())
    return digest.hexdigest()


def predict(artifact: Artifact, faces: LabelledFaces) -> Predictions:
    session = open_session(artifact.path, optimise=not needs_exact_arithmetic(artifact.card))
    logits, probabilities = run_model(
        session, faces.pixels, (LOGITS, PROBABILITIES), f"running {artifact.card.name}"
    )
    return Predictions(
        probabilities=probabilities.astype(np.float64),
        labels=faces.labels,
        classes=artifact.card.labels,
        logits=logits.astype(np.float64),
        votes=faces.votes,
    )


def run_model(
    session: InferenceSession,
    pixels: NDArray[np.uint8],
    outputs: tuple[str, ...],
    title: str | None = None,
) -> tuple[NDArray[np.float32], ...]:
    """The named outputs for all faces, in batches; a title shows a progress bar on stderr."""
    console = Console(stderr=True)
    starts = track(
        range(0, len(pixels), BATCH),
        title or "",
        console=console,
        transient=True,
        disable=title is None or not console.is_terminal,
    )
    batches = [
        session.run(list(outputs), {INPUT: np.ascontiguousarray(pixels[start : start + BATCH])})
        for start in starts
    ]
    return tuple(np.concatenate(parts) for parts in zip(*batches, strict=True))
