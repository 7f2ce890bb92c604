"""From a recipe and a folder of data sets to the pixels and targets that the loop takes."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calib.errors import RankotomError
from rankotom_edge.crop import FERPLUS_FRAMING, Framing
from train.align import framed, measure_framing
from train.batches import TrainingFaces
from train.datasets import FaceSet, half, load_dataset
from train.recipe import Recipe
from train.teachers.answer import answers


def training_faces(
    recipe: Recipe,
    folder: Path,
    cache: Path,
    check_count: bool = True,
) -> TrainingFaces:
    fer = load_dataset(recipe.dataset, folder, "train", check_count)
    choose = half(load_dataset(recipe.dataset, folder, "valid", check_count), "choose")
    assert fer.labels is not None
    assert choose.labels is not None

    def pixels(faces: FaceSet, framing: Framing | None = None) -> NDArray[np.uint8]:
        return framed(faces, recipe.size, recipe.channels, framing, cache)

    faces, fr = pixels(fer), None
    if recipe.face_recognition:
        lfw = load_dataset("lfw", folder, "train", check_count)
        fr = pixels(lfw, framing_of(recipe, faces))
    labels, targets = fer.labels, targets_of(recipe, fer)
    if recipe.distil:
        said = answers(fer.name, faces, cache.parent / "answers")
        targets = (1 - np.float32(recipe.distil)) * targets + np.float32(recipe.distil) * said
    if recipe.distil_lfw:
        lfw = load_dataset("lfw", folder, "train", check_count)
        more = pixels(lfw, framing_of(recipe, faces))
        said = answers(lfw.name, more, cache.parent / "answers")
        faces, targets = np.concatenate([faces, more]), np.concatenate([targets, said])
        labels = np.concatenate([labels, said.argmax(axis=1)])
    return TrainingFaces(
        classes=fer.classes,
        fer=faces,
        labels=labels,
        targets=targets,
        fr=fr,
        choose=pixels(choose),
        choose_labels=choose.labels,
    )


def framing_of(recipe: Recipe, fer: NDArray[np.uint8]) -> Framing:
    """Where a data set has its eyes and mouths: FERPlus's is measured, others are by a sample."""
    if recipe.dataset == "ferplus":
        return FERPLUS_FRAMING
    grey = fer[:: max(1, len(fer) // 2000)].mean(axis=1, keepdims=True).astype(np.uint8)
    return measure_framing(grey).framing


def targets_of(recipe: Recipe, faces: FaceSet) -> NDArray[np.float32]:
    """One-hot labels, the shares of the votes, or the mean of both, (n, k)."""
    assert faces.labels is not None
    majority = np.eye(len(faces.classes), dtype=np.float32)[faces.labels]
    if recipe.targets == "majority":
        return majority
    if faces.votes is None:
        raise RankotomError(f"{recipe.name} trains on votes; {faces.name} has none.")
    shares = vote_targets(faces.votes)
    return shares if recipe.targets == "votes" else (majority + shares) * np.float32(0.5)


def vote_targets(votes: NDArray[np.float64]) -> NDArray[np.float32]:
    """Shares of the votes; a single voter against all others is noise, as FERPlus's authors hold.

    Where every emotion has one vote at most, all of them count.
    """
    agreed = np.where(votes > 1, votes, 0.0)
    kept = np.where(agreed.any(axis=1, keepdims=True), agreed, votes)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True), dtype=np.float32)
