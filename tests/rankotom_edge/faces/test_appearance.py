"""Faces are told apart by place, size and looks, all at once and not one after the other."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from rankotom_edge.faces.appearance import (
    GATE,
    OTHER_PERSON,
    associate,
    distance,
    near,
    renewed,
    signature,
    unlikeness,
)
from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image


def face_at(x: float, y: float, width: float = 40.0) -> Face:
    box = (x - width / 2, y - width / 2, width, width)
    return Face(box, (x - 8, y - 8), (x + 8, y - 8), (x, y), (x, y + 10), score=0.9)


def person(image: Image, x: int, y: int, clothes: tuple[int, int, int]) -> None:
    """A head 40 wide with clothes below it."""
    image[y - 30 : y + 30, x - 20 : x + 20] = (120, 150, 190)
    image[y + 30 : y + 80, x - 40 : x + 40] = clothes


def cheapest(costs: np.ndarray, gate: float) -> float:
    rows, columns = costs.shape
    return min(
        sum(costs[pair] for pair in zip(chosen, partners, strict=True)) + (rows - count) * gate
        for count in range(min(rows, columns) + 1)
        for chosen in itertools.combinations(range(rows), count)
        for partners in itertools.permutations(range(columns), count)
    )


@given(
    arrays(
        np.float64,
        array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=4),
        elements=st.one_of(st.floats(0, 3), st.just(np.inf)),
    )
)
def test_the_pairs_are_the_cheapest_of_all_ways_to_pair(costs: np.ndarray) -> None:
    pairs = associate(costs, gate=1.0)
    total = sum(costs[pair] for pair in pairs) + (costs.shape[0] - len(pairs))
    assert total == pytest.approx(cheapest(costs, 1.0))
    assert len({column for _, column in pairs}) == len(pairs)


def test_the_nearest_pair_does_not_leave_another_face_without_one() -> None:
    costs = np.array([[0.1, 0.3], [0.2, 9.0]])
    assert associate(costs, gate=1.0) == ((0, 1), (1, 0))


def test_too_far_is_nobody() -> None:
    assert associate(np.array([[1.7]]), gate=1.6) == ()


def test_a_step_counts_in_widths_and_for_less_while_out_of_sight() -> None:
    known, seen = face_at(100, 100), face_at(140, 100)
    assert distance(known, seen, unlike=0.0, unseen_for=0.0) == pytest.approx(1.0)
    assert distance(known, seen, unlike=0.0, unseen_for=0.5) == pytest.approx(1 / 3)
    assert distance(known, known, unlike=0.12, unseen_for=0.0) == pytest.approx(1.0)
    grown = face_at(100, 100, width=40 * np.e)
    assert distance(known, grown, unlike=0.0, unseen_for=0.0) == pytest.approx(1.0)


def test_clothes_tell_people_apart_and_a_dimmed_lamp_does_not() -> None:
    image = np.full((240, 320, 3), 200, dtype=np.uint8)
    person(image, 80, 100, clothes=(200, 60, 40))
    person(image, 240, 100, clothes=(30, 40, 220))
    left, right = (signature(image, face_at(x, 100)) for x in (80, 240))
    dimmed = signature(image // 2, face_at(80, 100))
    assert unlikeness(left, dimmed) < 0.02
    assert unlikeness(left, right) > 0.12
    assert distance(face_at(80, 100), face_at(80, 100), unlikeness(left, dimmed), 0.0) < GATE


def test_who_is_partly_hidden_still_looks_like_himself() -> None:
    image = np.full((240, 320, 3), 200, dtype=np.uint8)
    person(image, 160, 100, clothes=(200, 60, 40))
    before = signature(image, face_at(160, 100))
    image[:, 130:142] = (60, 90, 140)
    assert unlikeness(before, signature(image, face_at(160, 100))) < 0.06


def test_what_lies_beyond_the_border_says_nothing_of_a_person() -> None:
    image = np.full((240, 320, 3), 200, dtype=np.uint8)
    person(image, 160, 100, clothes=(200, 60, 40))
    whole = signature(image, face_at(160, 100))
    cut = signature(np.ascontiguousarray(image[:, 150:]), face_at(10, 100))
    assert np.isnan(cut[:, 0]).all()
    assert not np.isnan(cut[:, 3:]).any()
    assert unlikeness(whole, cut) < 0.02
    assert np.isnan(signature(image, face_at(-500, 235))).all()
    assert unlikeness(whole, signature(image, face_at(-500, 235))) == OTHER_PERSON


def test_a_memory_is_renewed_where_the_person_is_seen_and_kept_elsewhere() -> None:
    nothing = np.nan
    known = np.array([1.0, 1.0, nothing, nothing], np.float32)
    seen = np.array([2.0, nothing, 3.0, nothing], np.float32)
    np.testing.assert_allclose(renewed(known, seen, 0.25), [1.25, 1.0, 3.0, nothing])


def test_near_is_within_each_others_signature() -> None:
    assert near(face_at(100, 100), face_at(155, 100))
    assert not near(face_at(100, 100), face_at(165, 100))
