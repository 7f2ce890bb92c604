"""Who a detection is: a person who is followed, one who was lost, or someone new."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rankotom_edge.faces.appearance import Appearance
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.false_positives import ENOUGH_EVIDENCE
from rankotom_edge.faces.reidentification import (
    BEHIND_WEIGHT,
    MAX_COST,
    STRANGER,
    find_lost_person,
    follow_cost,
    match_cost,
    return_cost,
)
from rankotom_edge.faces.track import Track


def face_at(x: float, score: float = 0.9) -> Face:
    return Face((x - 25, 75, 50, 50), (x - 10, 90), (x + 10, 90), (x, 102), (x, 111), score)


def appearance(shade: float) -> Appearance:
    return np.full((11, 6, 3), shade, np.float32)


def track(number: int | None = 1, x: float = 100.0, shade: float = 1.0) -> Track:
    face = face_at(x)
    return Track(number, face, appearance(shade), 0.7, 0.0, 0.0, placed=True, found=face, since=0.0)


def lost(x: float = 100.0, velocity: complex = 0j, behind: bool = False) -> Track:
    return replace(track(x=x), placed=False, velocity=velocity, behind=behind)


def sized_face(width: float, x: float = 100.0) -> Face:
    box = (x - width / 2, 100 - width / 2, width, width)
    return Face(box, (x - 8, 92), (x + 8, 92), (x, 100), (x, 110), score=0.9)


def test_a_step_counts_in_widths_and_for_less_while_out_of_sight() -> None:
    known, seen = sized_face(40.0), sized_face(40.0, x=140)
    assert match_cost(known, seen, difference=0.0, unseen=0.0) == pytest.approx(1.0)
    assert match_cost(known, seen, difference=0.0, unseen=0.5) == pytest.approx(1 / 3)
    assert match_cost(known, known, difference=0.12, unseen=0.0) == pytest.approx(1.0)
    grown = sized_face(40 * math.e)
    assert match_cost(known, grown, difference=0.0, unseen=0.0) == pytest.approx(1.0)


def test_who_walks_on_behind_another_is_expected_on_the_other_side() -> None:
    still, walking = lost(), lost(velocity=200 + 0j)
    seen = face_at(260)
    costs = [return_cost(one, seen, appearance(1.0), 0.8) for one in (still, walking)]
    assert costs[1] == pytest.approx(0)
    assert costs[0] > 0.5


def test_after_an_absence_the_appearance_must_agree_and_behind_another_less_so() -> None:
    stranger = appearance(1 + 2 * STRANGER)
    assert return_cost(lost(), face_at(100), stranger, 0.5) == math.inf
    assert return_cost(lost(), face_at(100), stranger, 0.5, BEHIND_WEIGHT) < MAX_COST
    newcomer = replace(track(None, shade=1 + 2 * STRANGER), evidence=ENOUGH_EVIDENCE)
    assert find_lost_person(newcomer, [lost()], 0.5) is None
    hidden = lost(behind=True)
    assert find_lost_person(newcomer, [hidden], 0.5) is hidden
    assert hidden.memory > lost().memory


def test_a_face_in_sight_is_not_taken_for_one_that_came_back() -> None:
    assert return_cost(track(), face_at(100), appearance(1.0), 0.5) == math.inf
    assert follow_cost(lost(), face_at(100), appearance(1.0), True) == math.inf


def test_who_was_followed_is_the_same_beside_another_wall_and_not_on_a_poor_detection() -> None:
    another_wall, here = appearance(1.3), face_at(102)
    assert follow_cost(track(), here, another_wall, is_alone=False) < MAX_COST
    poor = replace(here, score=0.6)
    assert follow_cost(track(), poor, another_wall, is_alone=False) > MAX_COST
    assert follow_cost(track(), here, another_wall, is_alone=True) < 0.1
