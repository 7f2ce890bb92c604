"""What training does for teachers and students: the last layer's rate, targets, damaged faces."""

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from train.batches import batches
from train.loop import build_optimizer, set_learning_rate
from train.networks import build_network
from train.ranks import Ranks
from train.recipe import STUDENT, TEACHER_DLIB, Recipe
from train.teachers.ensemble import Faces, Logits, Member
from train.teachers.teacher_probabilities import FOLDER, compute_probabilities, save_ensemble
from train.training_set import load_training_faces

ALONE = Ranks(0, 1, torch.device("cpu"))
TOY_STUDENT = replace(STUDENT, distil=0.5, distil_lfw=False, batch=8, partners=0.25)
CONFIDENT = np.array([[20.0] + [0.0] * 7], np.float32)


def first_class_logits(faces: Faces) -> Logits:
    return np.repeat(CONFIDENT, len(faces), axis=0)


@pytest.fixture
def ferplus(tmp_path: Path) -> Path:
    """A face of each emotion in train and in valid, each with unanimous votes."""
    random = np.random.default_rng(0)
    rows = [f"Usage,Image name,{','.join(EMOTIONS)},unknown,NF"]
    for usage, folder in (("Training", "FER2013Train"), ("PublicTest", "FER2013Valid")):
        (tmp_path / "data" / folder).mkdir(parents=True)
        for number in range(8):
            votes = [10 if index == number else 0 for index in range(8)]
            rows.append(f"{usage},fer{number:07}.png,{','.join(map(str, votes))},0,0")
            face = random.integers(40, 200, (48, 48), dtype=np.uint8)
            cv2.imwrite(str(tmp_path / "data" / folder / f"fer{number:07}.png"), face)
    (tmp_path / "fer2013new.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def rates(recipe: Recipe) -> dict[str, float]:
    network = build_network("edge-narrow", channels=1, classes=8, dropout=0.0)
    optimizer = build_optimizer(recipe, network)
    set_learning_rate(optimizer, recipe, 0.1)
    rate_of = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    return {name: rate_of[id(p)] for name, p in network.named_parameters()}


def test_the_last_layer_has_its_own_rate_and_every_layer_is_trained() -> None:
    by_name = rates(replace(TEACHER_DLIB, learning_rate=1e-3, head_rate=4.0))
    last = {rate for name, rate in by_name.items() if name.startswith("fc.")}
    others = {rate for name, rate in by_name.items() if not name.startswith("fc.")}
    assert list(last) == [pytest.approx(4e-3)]
    assert list(others) == [pytest.approx(1e-3)]


def test_a_students_targets_mix_labels_and_the_teachers_probabilities(ferplus: Path) -> None:
    cache = ferplus / "framed"
    with pytest.raises(RankotomError, match="no teachers' probabilities"):
        load_training_faces(TOY_STUDENT, ferplus, cache, check_count=False)
    plain = load_training_faces(replace(TOY_STUDENT, distil=0.0), ferplus, cache, check_count=False)
    teacher = [Member("sure", "1" * 64, first_class_logits)]
    compute_probabilities(teacher, "ferplus/train", plain.fer, ferplus / FOLDER)
    save_ensemble(teacher, 1.0, ferplus / FOLDER)
    taught = load_training_faces(TOY_STUDENT, ferplus, cache, check_count=False)
    expected = 0.5 * np.eye(8) + 0.5 * np.eye(8)[[0] * 8]
    np.testing.assert_allclose(taught.targets, expected, atol=1e-4)


def test_a_student_sees_some_faces_damaged_reproducibly(ferplus: Path) -> None:
    faces = load_training_faces(
        replace(TOY_STUDENT, distil=0.0), ferplus, ferplus / "framed", check_count=False
    )
    clean, once, again = (
        next(batches(recipe, faces, 0, ALONE, ALONE.device)).fer
        for recipe in (replace(TOY_STUDENT, damaged=0.0), TOY_STUDENT, TOY_STUDENT)
    )
    assert torch.equal(once, again)
    changed = (once != clean).flatten(1).any(dim=1)
    assert 0 < changed.sum() < 8
