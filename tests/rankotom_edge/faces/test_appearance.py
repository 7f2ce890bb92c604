"""People are told apart by the colours around their faces."""

import numpy as np

from rankotom_edge.faces.appearance import (
    OTHER_PERSON,
    appearance_difference,
    are_neighbours,
    measure_appearance,
    update_appearance,
)
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.reidentification import MAX_COST, match_cost
from rankotom_edge.frame import Image


def face_at(x: float, y: float, width: float = 40.0) -> Face:
    box = (x - width / 2, y - width / 2, width, width)
    return Face(box, (x - 8, y - 8), (x + 8, y - 8), (x, y), (x, y + 10), score=0.9)


def person(image: Image, x: int, y: int, clothes: tuple[int, int, int]) -> None:
    """A head 40 wide with clothes below it."""
    image[y - 30 : y + 30, x - 20 : x + 20] = (120, 150, 190)
    image[y + 30 : y + 80, x - 40 : x + 40] = clothes


def test_clothes_tell_people_apart_and_a_dimmed_lamp_does_not() -> None:
    image = np.full((240, 320, 3), 200, dtype=np.uint8)
    person(image, 80, 100, clothes=(200, 60, 40))
    person(image, 240, 100, clothes=(30, 40, 220))
    left, right = (measure_appearance(image, face_at(x, 100)) for x in (80, 240))
    dimmed = measure_appearance(image // 2, face_at(80, 100))
    assert appearance_difference(left, dimmed) < 0.02
    assert appearance_difference(left, right) > 0.12
    same_place = match_cost(
        face_at(80, 100), face_at(80, 100), appearance_difference(left, dimmed), unseen=0.0
    )
    assert same_place < MAX_COST


def test_a_person_who_is_partly_hidden_still_looks_the_same() -> None:
    image = np.full((240, 320, 3), 200, dtype=np.uint8)
    person(image, 160, 100, clothes=(200, 60, 40))
    before = measure_appearance(image, face_at(160, 100))
    image[:, 130:142] = (60, 90, 140)
    assert appearance_difference(before, measure_appearance(image, face_at(160, 100))) < 0.06


def test_what_lies_beyond_the_border_says_nothing_of_a_person() -> None:
    image = np.full((240, 320, 3), 200, dtype=np.uint8)
    person(image, 160, 100, clothes=(200, 60, 40))
    whole = measure_appearance(image, face_at(160, 100))
    cut = measure_appearance(np.ascontiguousarray(image[:, 150:]), face_at(10, 100))
    assert np.isnan(cut[:, 0]).all()
    assert not np.isnan(cut[:, 3:]).any()
    assert appearance_difference(whole, cut) < 0.02
    assert np.isnan(measure_appearance(image, face_at(-500, 235))).all()
    assert (
        appearance_difference(whole, measure_appearance(image, face_at(-500, 235))) == OTHER_PERSON
    )


def test_a_memory_is_renewed_where_the_person_is_seen_and_kept_elsewhere() -> None:
    nothing = np.nan
    known = np.array([1.0, 1.0, nothing, nothing], np.float32)
    seen = np.array([2.0, nothing, 3.0, nothing], np.float32)
    np.testing.assert_allclose(update_appearance(known, seen, 0.25), [1.25, 1.0, 3.0, nothing])


def test_neighbours_are_in_each_others_region() -> None:
    assert are_neighbours(face_at(100, 100), face_at(155, 100))
    assert not are_neighbours(face_at(100, 100), face_at(165, 100))
