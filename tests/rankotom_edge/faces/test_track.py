"""What is known of a face, and who may be taken for it."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rankotom_edge.faces.appearance import GATE, Signature
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.track import (
    ENOUGH,
    HALF_SEEN,
    KEEPS_GOING,
    OF_LATE,
    STRANGER,
    Track,
    alone,
    come_back,
    confirmed,
    followed_to,
    missed,
    out_of_sight,
    velocity_after,
    weighed,
    who_of,
)

FPS = 30


def face_at(x: float, score: float = 0.9) -> Face:
    return Face((x - 25, 75, 50, 50), (x - 10, 90), (x + 10, 90), (x, 102), (x, 111), score)


def looks(shade: float) -> Signature:
    return np.full((11, 6, 3), shade, np.float32)


def track(number: int | None = 1, x: float = 100.0, shade: float = 1.0) -> Track:
    face = face_at(x)
    return Track(number, face, looks(shade), 0.7, 0.0, 0.0, placed=True, found=face, since=0.0)


def lost(x: float = 100.0, velocity: complex = 0j, behind: bool = False) -> Track:
    return replace(track(x=x), placed=False, velocity=velocity, behind=behind)


def test_a_face_earns_its_track_by_looks_in_a_row() -> None:
    evidence, looks = 0.0, 0
    while evidence < ENOUGH:
        evidence, looks = weighed(evidence, 0.9), looks + 1
    assert looks == 3
    assert weighed(weighed(0.0, 0.73), 0.67) < ENOUGH  # the skull at its best
    assert weighed(0.5, 0.0) == 0


def test_a_velocity_is_that_of_late_and_of_the_time_when_it_was_found() -> None:
    walking = track(x=100)
    for step in range(1, 31):
        moved = face_at(100 + 4 * step)
        velocity = velocity_after(walking, moved, 1 / FPS)
        walking = replace(walking, face=moved, velocity=velocity)
    assert walking.velocity == pytest.approx(120 * (1 - math.exp(-1 / OF_LATE)))
    unfound = replace(walking, face=replace(walking.face, score=0.0))
    assert velocity_after(unfound, face_at(0), 1 / FPS) == walking.velocity


def test_somebody_lost_is_where_he_was_or_where_he_was_going() -> None:
    was, going = lost(velocity=60 + 0j).whereabouts(0.5)
    assert (was.centre[0], going.centre[0]) == (100, 130)
    _, at_last = lost(velocity=60 + 0j).whereabouts(9.0)
    assert at_last.centre[0] == 100 + 60 * KEEPS_GOING


def test_who_walks_on_behind_another_is_expected_on_the_other_side() -> None:
    still, walking = lost(), lost(velocity=200 + 0j)
    seen = face_at(260)
    costs = [come_back(one, seen, looks(1.0), 1.0, 0.8) for one in (still, walking)]
    assert costs[1] == pytest.approx(0)
    assert costs[0] > 0.5


def test_after_an_absence_looks_must_agree_and_behind_another_less_so() -> None:
    stranger = looks(1 + 2 * STRANGER)
    assert come_back(lost(), face_at(100), stranger, 1.0, 0.5) == math.inf
    assert come_back(lost(), face_at(100), stranger, HALF_SEEN, 0.5) < GATE
    newcomer = replace(track(None, shade=1 + 2 * STRANGER), evidence=ENOUGH)
    assert who_of(newcomer, [lost()], 0.5) is None
    hidden = lost(behind=True)
    assert who_of(newcomer, [hidden], 0.5) is hidden
    assert hidden.remembered_for > lost().remembered_for


def test_a_face_in_sight_is_not_taken_for_one_that_came_back() -> None:
    assert come_back(track(), face_at(100), looks(1.0), 1.0, 0.5) == math.inf
    assert followed_to(lost(), face_at(100), looks(1.0), True) == math.inf


def test_who_was_followed_is_the_same_beside_another_wall_and_not_on_a_poor_look() -> None:
    another_wall, here = looks(1.3), face_at(102)
    assert followed_to(track(), here, another_wall, by_itself=False) < GATE
    poor = replace(here, score=0.6)
    assert followed_to(track(), poor, another_wall, by_itself=False) > GATE
    assert followed_to(track(), here, another_wall, by_itself=True) < 0.1


def test_nobody_out_of_sight_keeps_company() -> None:
    one, other = track(), track(2, x=130)
    assert not alone(one, [one, other])
    assert alone(one, [one, replace(other, placed=False)])


def test_who_is_lost_beside_another_may_be_behind_him() -> None:
    one, beside, before = track(), track(2, x=165), track(3, x=115)
    assert out_of_sight(one, [one, before]).behind
    assert not out_of_sight(one, [one, beside]).behind
    assert out_of_sight(replace(one, velocity=150 + 0j), [beside]).behind
    assert not out_of_sight(replace(one, velocity=-150 + 0j), [beside]).behind
    (gone,) = missed(one, [face_at(110)], 0.5)
    assert (gone.placed, gone.behind, gone.face.score) == (False, True, 0)
    (lingers,) = missed(one, [face_at(400)], 0.5)
    assert (lingers.placed, lingers.behind, lingers.lost) == (True, False, True)
    assert missed(track(None), [], 0.5) == ()


def test_a_newcomer_is_remembered_as_he_looked_last_and_a_known_one_slowly() -> None:
    newcomer = confirmed(track(None), face_at(101), looks(2.0), 0.1)
    known = confirmed(track(), face_at(101), looks(2.0), 0.1)
    assert newcomer.likeness[0, 0, 0] == pytest.approx(2.0)
    assert known.likeness[0, 0, 0] == pytest.approx(1.3)
    assert (known.found, known.sighted, known.placed) == (face_at(101), 0.1, True)
