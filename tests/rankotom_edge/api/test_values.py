from __future__ import annotations

from collections.abc import Sequence

import pytest

from rankotom_edge.api.values import COLUMNS, FrameReading, column_types, table
from rankotom_edge.readings.frame_readings import FrameReadings

LABELS = ("neutral", "happiness")


@pytest.fixture(scope="module")
def read(frames: Sequence[FrameReadings]) -> list[FrameReading]:
    return [FrameReading.of(each) for each in frames[:20]]


def test_a_table_has_a_row_for_each_face(read: list[FrameReading]) -> None:
    made = table(read)
    faces = [(each.frame, face) for each in read for face in each.faces]
    assert {len(column) for column in made.values()} == {len(faces)}
    assert made["frame"] == [frame for frame, _ in faces]
    assert made["width"] == [round(face.box[2], 1) for _, face in faces]


def test_the_columns_are_those_that_are_promised_in_their_order(read: list[FrameReading]) -> None:
    made = table(read)
    assert list(made)[: len(COLUMNS)] == list(COLUMNS)
    types = column_types(read[-1].faces[0].probabilities)
    assert list(made) == list(types)
    for name, column in made.items():
        assert all(value is None or type(value) is types[name] for value in column), name


def test_a_table_without_a_face_has_its_columns_too() -> None:
    made = table([], LABELS)
    assert list(made) == [*COLUMNS, "probability:neutral", "probability:happiness"]
    assert set(map(tuple, made.values())) == {()}


def test_readings_of_the_same_frame_are_equal_whatever_the_picture(
    frames: Sequence[FrameReadings],
) -> None:
    assert FrameReading.of(frames[5]) == FrameReading.of(frames[5])
    assert FrameReading.of(frames[5]) != FrameReading.of(frames[6])
    assert "array" not in repr(FrameReading.of(frames[5]))
