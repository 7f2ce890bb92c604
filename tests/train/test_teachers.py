"""What finished models say, as a part of what is learned."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from calib.temperature import softmax
from rankotom_edge.artifact import load_artifact
from rankotom_edge.classifier import Classifier
from train.prepare import training_faces
from train.recipe import EDGE_FERPLUS
from train.teachers import check_teacher, opinion

FACES = np.random.default_rng(0).integers(0, 256, (300, 1, 48, 48), dtype=np.uint8)


def test_two_teachers_have_their_mean_before_any_temperature() -> None:
    teachers = [load_artifact("ferplus-fp32"), load_artifact("ferplus-int8")]
    said = [softmax(Classifier(each).classify(FACES[256:]).logits) for each in teachers]
    heard = opinion(teachers, FACES, EMOTIONS)
    assert heard.shape == (300, 8)
    np.testing.assert_allclose(heard[256:], np.mean(said, axis=0), atol=1e-5)
    np.testing.assert_allclose(heard.sum(axis=1), 1, atol=1e-5)


def test_a_teacher_of_other_classes_or_other_faces_is_refused_by_name() -> None:
    teacher = load_artifact("ferplus-fp32")
    with pytest.raises(RankotomError, match="ferplus-fp32 cannot teach this: it knows neutral"):
        check_teacher(teacher, (1, 48, 48), ("x", "y"))
    with pytest.raises(RankotomError, match=r"takes faces of \(1, 48, 48\).*\(3, 224, 224\)"):
        check_teacher(teacher, (3, 224, 224), EMOTIONS)


def test_a_recipe_that_learns_from_models_asks_for_them_and_others_do_not_take_them(
    tmp_path: Path,
) -> None:
    taught = replace(EDGE_FERPLUS, name="taught", teacher_share=0.5)
    with pytest.raises(RankotomError, match=r"taught learns from finished models; .*--teacher"):
        training_faces(taught, tmp_path, tmp_path)
    teachers = [load_artifact("ferplus-fp32")]
    with pytest.raises(RankotomError, match="edge-ferplus learns from no finished model"):
        training_faces(EDGE_FERPLUS, tmp_path, tmp_path, teachers=teachers)
