"""The teachers' answers: asked once, averaged, and never taken for those of other faces."""

from pathlib import Path

import numpy as np
import pytest

from calib.errors import RankotomError
from train.teachers.answer import answers, appoint, ask
from train.teachers.members import Faces, Logits, Member

FACES = np.random.default_rng(0).integers(0, 256, (6, 1, 48, 48), np.uint8)


class Teacher:
    """Always says the same, and counts how often it was asked."""

    def __init__(self, *logits: float) -> None:
        self.row, self.asked = np.array(logits, np.float32), 0

    def logits(self, faces: Faces) -> Logits:
        self.asked += 1
        return np.tile(self.row, (len(faces), 1))


def members(*teachers: Teacher) -> list[Member]:
    return [
        Member(f"teacher {number}", str(number) * 64, teacher.logits)
        for number, teacher in enumerate(teachers)
    ]


def test_the_answer_is_the_mean_of_the_probabilities(tmp_path: Path) -> None:
    teachers = members(Teacher(0.0, 0.0), Teacher(np.log(9.0), 0.0))
    ask(teachers, "toy/train", FACES, tmp_path)
    appoint(teachers, 1.0, tmp_path)
    said = answers("toy/train", FACES, tmp_path)
    assert said.dtype == np.float32
    assert said == pytest.approx(np.tile([0.7, 0.3], (6, 1)), abs=1e-3)


def test_their_temperature_sharpens_the_mean(tmp_path: Path) -> None:
    teachers = members(Teacher(np.log(3.0), 0.0))
    ask(teachers, "toy/train", FACES, tmp_path)
    appoint(teachers, 0.5, tmp_path)
    said = answers("toy/train", FACES, tmp_path)
    assert said == pytest.approx(np.tile([0.9, 0.1], (6, 1)), abs=1e-3)


def test_a_teacher_is_asked_once(tmp_path: Path) -> None:
    teacher = Teacher(0.0, 1.0)
    for _ in range(2):
        ask(members(teacher), "toy/train", FACES, tmp_path)
    assert teacher.asked == 1


def test_answers_for_other_faces_are_not_taken(tmp_path: Path) -> None:
    teachers = members(Teacher(0.0, 1.0))
    ask(teachers, "toy/train", FACES, tmp_path)
    appoint(teachers, 1.0, tmp_path)
    with pytest.raises(RankotomError, match=r"teacher 0 has not answered.*train\.teachers\.answer"):
        answers("toy/train", 255 - FACES, tmp_path)


def test_a_training_without_answers_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match="No teacher has answered yet"):
        answers("toy/train", FACES, tmp_path)
