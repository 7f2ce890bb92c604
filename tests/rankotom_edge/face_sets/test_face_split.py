"""What photos and sessions share: an even order, the smallest face, and counts in words."""

from dataclasses import replace

import numpy as np
import pytest

from rankotom_edge.face_sets.face_split import (
    count_words,
    cut_face,
    is_large_enough,
    spread_evenly,
)
from rankotom_edge.faces.crop import FERPLUS_FRAMING
from rankotom_edge.model.card import CropContract
from rankotom_edge.readings.frame_readings import FrameReadings


@pytest.mark.parametrize("taken", [5, 10, 30])
def test_the_first_items_are_spread_over_all_of_them(taken: int) -> None:
    order = spread_evenly(range(100))
    assert sorted(order) == list(range(100))
    places = [0, *sorted(order[:taken]), 99]
    assert max(np.diff(places)) <= 2 * 100 / taken


def test_a_face_is_large_enough_by_the_distance_of_its_eyes(frames: list[FrameReadings]) -> None:
    face = frames[20].readings[0].face
    x, y = face.left_eye
    assert is_large_enough(replace(face, right_eye=(x + 9.0, y)))
    assert not is_large_enough(replace(face, right_eye=(x + 8.9, y)))


def test_a_face_is_cut_to_the_contract(frames: list[FrameReadings]) -> None:
    face = frames[20].readings[0].face
    colour = CropContract(32, 3, FERPLUS_FRAMING)
    assert cut_face(frames[20].frame.image, face, colour).shape == (3, 32, 32)


def test_counts_are_read_as_words() -> None:
    assert [count_words(count, "face") for count in (0, 1, 1200)] == [
        "0 faces",
        "1 face",
        "1,200 faces",
    ]
