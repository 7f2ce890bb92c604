"""The faces of a data set or of the user, in a model's crop, with or without labels."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calib.arrays import FloatArray, IntArray
from calib.errors import RankotomError
from rankotom_edge.model.card import CropContract, FacesUsed
from train.data.crops import load_crops
from train.data.datasets import FaceSet


@dataclass(frozen=True, eq=False)
class Faces:
    used: FacesUsed  # for the card
    pixels: NDArray[np.uint8]  # (n, channels, size, size)


@dataclass(frozen=True, eq=False)
class LabelledFaces(Faces):
    labels: IntArray  # (n,), in the model's order
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
    return LabelledFaces(_faces_used(faces.name, pixels, labels), pixels, labels, votes)


def unlabelled_faces(name: str, pixels: NDArray[np.uint8]) -> Faces:
    return Faces(_faces_used(name, pixels, np.empty(0, np.int64)), pixels)


def _faces_used(name: str, pixels: NDArray[np.uint8], labels: IntArray) -> FacesUsed:
    return FacesUsed(name, len(pixels), faces_hash(pixels, labels))


def faces_hash(pixels: NDArray[np.uint8], labels: IntArray) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(pixels).tobytes())
    digest.update(labels.astype("<i8").tobytes())
    return digest.hexdigest()
