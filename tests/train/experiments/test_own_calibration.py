from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from calib.own_calibration import OwnCalibration
from calib.rater import VOTE_GIVEN_MAJORITY
from train.data.datasets import FaceSet
from train.experiments.own_calibration import (
    Camera,
    ask_raters,
    not_worse,
    play_user,
    print_raters,
    table_of,
    warm_light,
)


@pytest.fixture(scope="module")
def camera() -> Camera:
    """Faces of a calibrated model, with ten annotators like those of FERPlus."""
    random = np.random.default_rng(0)
    logits = random.normal(0, 1, (900, 8)) + 3 * np.eye(8)[random.integers(0, 8, 900)]
    labels = np.array([random.choice(8, p=row) for row in OwnCalibration().apply(logits)])
    matrix = np.array(VOTE_GIVEN_MAJORITY) / np.sum(VOTE_GIVEN_MAJORITY, axis=1, keepdims=True)
    votes = np.stack([random.multinomial(9, matrix[label]) for label in labels])
    return Camera("some", logits, labels, np.column_stack([votes, np.ones(900, np.int64)]))


def test_raters_are_annotators_of_the_face_who_may_not_have_been_able_to_tell() -> None:
    votes = np.zeros((200, 9), np.int64)
    votes[:, 3], votes[:, 8] = 5, 5
    asked = ask_raters(votes, 2, np.random.default_rng(0))
    assert asked.shape == (200, 8)
    assert asked[:, 3].max() == 2
    assert asked.sum() == pytest.approx(200, abs=40)
    assert (asked.sum(axis=1) == 0).any()


def test_a_user_s_other_faces_are_measured_before_and_after(camera: Camera) -> None:
    too_sure = camera.with_logits_times(2.0, "twice")
    user = play_user(too_sure, 150, 2, seed=0)
    assert user.acted
    assert user.ece[1] < user.ece[0] / 2
    assert not_worse(user)
    assert not not_worse(replace(user, ece=(0.02, 0.026)))


def test_a_refusal_leaves_the_other_faces_as_they_were(camera: Camera) -> None:
    user = play_user(camera, 20, 2, seed=0)
    assert not user.acted
    assert user.ece[0] == user.ece[1]


def test_the_table_has_a_row_for_each_kind_and_number_of_faces(camera: Camera) -> None:
    console = Console(width=150)
    with console.capture() as captured:
        console.print(table_of([("some users", 20, [play_user(camera, 20, 2, seed=0)])]))
    assert "some users" in captured.get()
    assert "100 %" in captured.get()


def test_warm_light_clips_the_red() -> None:
    face = np.full((2, 2, 3), 200, np.uint8)
    assert warm_light(face)[0, 0].tolist() == [100, 200, 255]


def test_the_rater_model_is_printed_from_the_votes_of_each_majority() -> None:
    votes = np.eye(8) * 8
    votes[:, 0] += 2
    faces = FaceSet("f", (Path("1.png"),) * 8, ("any",) * 8, np.arange(8), votes)
    console = Console(width=150)
    with console.capture() as captured:
        print_raters(console, faces)
    lines = captured.get().splitlines()
    assert lines[0] == (
        "(1.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000),  # neutral: two agree 1.000"
    )
    # Eight for happiness, two for neutral: 28 + 1 of 45 pairs agree.
    assert lines[1].startswith("(0.200, 0.800, 0.000")
    assert lines[1].endswith(f"# happiness: two agree {29 / 45:.3f}")
