"""What is known of a face, and how it changes when it is found, missed or lost."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rankotom_edge.faces.appearance import Appearance
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.track import KEEPS_MOVING, VELOCITY_TIME, Track

FPS = 30


def face_at(x: float, score: float = 0.9) -> Face:
    return Face((x - 25, 75, 50, 50), (x - 10, 90), (x + 10, 90), (x, 102), (x, 111), score)


def appearance(shade: float) -> Appearance:
    return np.full((11, 6, 3), shade, np.float32)


def track(number: int | None = 1, x: float = 100.0, shade: float = 1.0) -> Track:
    face = face_at(x)
    return Track(number, face, appearance(shade), 0.7, 0.0, 0.0, placed=True, found=face, since=0.0)


def lost(x: float = 100.0, velocity: complex = 0j, behind: bool = False) -> Track:
    return replace(track(x=x), placed=False, velocity=velocity, behind=behind)


def test_a_velocity_is_that_of_late_and_of_the_time_when_it_was_found() -> None:
    walking = track(x=100)
    for step in range(1, 31):
        moved = face_at(100 + 4 * step)
        velocity = walking.average_velocity(moved, 1 / FPS)
        walking = replace(walking, face=moved, velocity=velocity)
    assert walking.velocity == pytest.approx(120 * (1 - math.exp(-1 / VELOCITY_TIME)))
    unfound = replace(walking, face=replace(walking.face, score=0.0))
    assert unfound.average_velocity(face_at(0), 1 / FPS) == walking.velocity


def test_a_lost_person_is_expected_where_last_seen_or_further_on() -> None:
    was, going = lost(velocity=60 + 0j).likely_places(0.5)
    assert (was.centre[0], going.centre[0]) == (100, 130)
    _, at_last = lost(velocity=60 + 0j).likely_places(9.0)
    assert at_last.centre[0] == 100 + 60 * KEEPS_MOVING


def test_a_person_out_of_sight_does_not_count_as_near() -> None:
    one, other = track(), track(2, x=130)
    assert not one.is_alone([one, other])
    assert one.is_alone([one, replace(other, placed=False)])


def test_a_person_lost_next_to_another_may_be_behind_them() -> None:
    one, beside, before = track(), track(2, x=165), track(3, x=115)
    assert one.lose_sight([one, before]).behind
    assert not one.lose_sight([one, beside]).behind
    assert replace(one, velocity=150 + 0j).lose_sight([beside]).behind
    assert not replace(one, velocity=-150 + 0j).lose_sight([beside]).behind
    gone = one.mark_missed([face_at(110)], 0.5)
    assert (gone.placed, gone.behind, gone.face.score) == (False, True, 0)
    lingers = one.mark_missed([face_at(400)], 0.5)
    assert (lingers.placed, lingers.behind, lingers.lost) == (True, False, True)
    assert track(None).mark_missed([], 0.5) is None


def test_a_newcomers_appearance_is_replaced_and_a_known_one_follows_slowly() -> None:
    newcomer = track(None).mark_found(face_at(101), appearance(2.0), 0.1)
    known = track().mark_found(face_at(101), appearance(2.0), 0.1)
    assert newcomer.appearance[0, 0, 0] == pytest.approx(2.0)
    assert known.appearance[0, 0, 0] == pytest.approx(1.3)
    assert (known.found, known.found_at, known.placed) == (face_at(101), 0.1, True)
