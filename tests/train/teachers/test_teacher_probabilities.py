"""The teachers' probabilities: computed once, averaged, and only for the same faces."""

from pathlib import Path

import numpy as np
import pytest

from calib.errors import RankotomError
from train.teachers.ensemble import Faces, Logits, Member
from train.teachers.teacher_probabilities import (
    compute_probabilities,
    read_ensemble_probabilities,
    save_ensemble,
)

FACES = np.random.default_rng(0).integers(0, 256, (6, 1, 48, 48), np.uint8)


class Teacher:
    """Gives the same logits for every face, and counts its calls."""

    def __init__(self, *logits: float) -> None:
        self.row, self.calls = np.array(logits, np.float32), 0

    def logits(self, faces: Faces) -> Logits:
        self.calls += 1
        return np.tile(self.row, (len(faces), 1))


def members(*teachers: Teacher) -> list[Member]:
    return [
        Member(f"teacher {number}", str(number) * 64, teacher.logits)
        for number, teacher in enumerate(teachers)
    ]


def save(cache: Path, temperature: float, *teachers: Teacher) -> None:
    compute_probabilities(members(*teachers), "toy/train", FACES, cache)
    save_ensemble(members(*teachers), temperature, cache)


def test_the_ensemble_has_the_mean_of_the_probabilities(tmp_path: Path) -> None:
    save(tmp_path, 1.0, Teacher(0.0, 0.0), Teacher(np.log(9.0), 0.0))
    probabilities = read_ensemble_probabilities("toy/train", FACES, tmp_path)
    assert probabilities.dtype == np.float32
    assert probabilities == pytest.approx(np.tile([0.7, 0.3], (6, 1)), abs=1e-3)


def test_its_temperature_sharpens_the_mean(tmp_path: Path) -> None:
    save(tmp_path, 0.5, Teacher(np.log(3.0), 0.0))
    probabilities = read_ensemble_probabilities("toy/train", FACES, tmp_path)
    assert probabilities == pytest.approx(np.tile([0.9, 0.1], (6, 1)), abs=1e-3)


def test_probabilities_are_computed_once(tmp_path: Path) -> None:
    teacher = Teacher(0.0, 1.0)
    first, second = (
        compute_probabilities(members(teacher), "toy/train", FACES, tmp_path) for _ in range(2)
    )
    assert teacher.calls == 1
    assert np.array_equal(first, second)


def test_probabilities_of_other_faces_are_not_used(tmp_path: Path) -> None:
    save(tmp_path, 1.0, Teacher(0.0, 1.0))
    with pytest.raises(RankotomError, match=r"no probabilities of teacher 0.*train\.teachers"):
        read_ensemble_probabilities("toy/train", 255 - FACES, tmp_path)


def test_without_teachers_the_error_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match=r"no teachers' probabilities.*train\.teachers"):
        read_ensemble_probabilities("toy/train", FACES, tmp_path)
