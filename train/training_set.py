"""Load the faces and targets that a recipe trains on."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calib.errors import RankotomError
from rankotom_edge.faces.crop import FERPLUS_FRAMING, Framing
from train.batches import TrainingFaces
from train.data.crops import load_crops
from train.data.datasets import FaceSet, load_dataset, validation_half
from train.data.framing import measure_framing
from train.recipe import Recipe
from train.teachers.teacher_probabilities import FOLDER, read_ensemble_probabilities


def load_training_faces(
    recipe: Recipe,
    folder: Path,
    cache: Path,
    check_count: bool = True,
) -> TrainingFaces:
    fer = load_dataset(recipe.dataset, folder, "train", check_count)
    if recipe.every > 1:
        fer = fer.subset(np.arange(0, len(fer), recipe.every))
    choose = validation_half(load_dataset(recipe.dataset, folder, "valid", check_count), "choose")
    assert fer.labels is not None
    assert choose.labels is not None

    def pixels(faces: FaceSet, framing: Framing | None = None) -> NDArray[np.uint8]:
        return load_crops(faces, recipe.size, recipe.channels, framing, cache)

    faces, fr = pixels(fer), None
    if recipe.face_recognition:
        lfw = load_dataset("lfw", folder, "train", check_count)
        fr = pixels(lfw, dataset_framing(recipe, faces))
    labels, targets = fer.labels, training_targets(recipe, fer)
    if recipe.distil:
        taught = read_ensemble_probabilities(fer.name, faces, cache.parent / FOLDER)
        share = np.float32(recipe.distil)
        targets = (1 - share) * targets + share * taught
    if recipe.distil_lfw:
        lfw = load_dataset("lfw", folder, "train", check_count)
        more = pixels(lfw, dataset_framing(recipe, faces))
        taught = read_ensemble_probabilities(lfw.name, more, cache.parent / FOLDER)
        faces, targets = np.concatenate([faces, more]), np.concatenate([targets, taught])
        labels = np.concatenate([labels, taught.argmax(axis=1)])
    return TrainingFaces(
        classes=fer.classes,
        fer=faces,
        labels=labels,
        targets=targets,
        fr=fr,
        choose=pixels(choose),
        choose_labels=choose.labels,
        vote_peaks=None if recipe.distil_lfw or fer.votes is None else vote_peaks(fer.votes),
    )


def dataset_framing(recipe: Recipe, fer: NDArray[np.uint8]) -> Framing:
    """Where the crops have eyes and mouth: known for FERPlus, measured on a sample otherwise."""
    if recipe.dataset == "ferplus":
        return FERPLUS_FRAMING
    grey = fer[:: max(1, len(fer) // 2000)].mean(axis=1, keepdims=True).astype(np.uint8)
    return measure_framing(grey).framing


def training_targets(recipe: Recipe, faces: FaceSet) -> NDArray[np.float32]:
    """One-hot labels, vote shares, or the mean of both, (n, k)."""
    assert faces.labels is not None
    majority = np.eye(len(faces.classes), dtype=np.float32)[faces.labels]
    if recipe.targets == "majority":
        return majority
    if faces.votes is None:
        raise RankotomError(f"{recipe.name} trains on votes, and {faces.name} has none.")
    shares = vote_targets(faces.votes)
    return shares if recipe.targets == "votes" else (majority + shares) * np.float32(0.5)


def vote_peaks(votes: NDArray[np.float64]) -> NDArray[np.float32]:
    """How far the annotators agree: each face's largest share of the votes."""
    return np.asarray(votes.max(axis=1) / votes.sum(axis=1), dtype=np.float32)


def vote_targets(votes: NDArray[np.float64]) -> NDArray[np.float32]:
    """Shares of the votes without single votes, which FERPlus's authors treat as noise.

    If no emotion has more than one vote, all votes count.
    """
    agreed = np.where(votes > 1, votes, 0.0)
    kept = np.where(agreed.any(axis=1, keepdims=True), agreed, votes)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True), dtype=np.float32)
