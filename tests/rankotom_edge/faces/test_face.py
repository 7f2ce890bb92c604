"""A face moves with its points, overlaps others, and is nearest to a point."""

from dataclasses import replace

import pytest

from rankotom_edge.faces.face import Face, nearest_face, overlap
from rankotom_edge.geometry import Similarity

FACE = Face((52, 40, 96, 96), (80, 70), (120, 70), (100, 93), (100, 112), score=0.9)


def face_in(box: tuple[float, float, float, float]) -> Face:
    return Face(box, (0, 0), (0, 0), (0, 0), (0, 0), score=1.0)


def test_a_face_moves_with_its_points_and_its_box_stays_upright() -> None:
    moved = FACE.transform(Similarity(2j, 500 + 10j))  # twice as large, a quarter turn
    assert moved.centre == pytest.approx((500 - 2 * 88, 10 + 2 * 100))
    assert moved.box[2:] == (192, 192)
    assert moved.left_eye == pytest.approx((500 - 2 * 70, 10 + 2 * 80))
    assert moved.score == FACE.score


def test_boxes_overlap_by_intersection_over_union() -> None:
    half_way = replace(FACE, box=(52 + 48, 40, 96, 96))
    assert overlap(FACE, FACE) == pytest.approx(1)
    assert overlap(FACE, half_way) == pytest.approx(1 / 3)
    assert overlap(FACE, replace(FACE, box=(300, 40, 96, 96))) == 0


def test_the_subject_is_the_face_nearest_the_point() -> None:
    bystander, subject = face_in((0, 0, 20, 20)), face_in((80, 90, 40, 40))
    assert nearest_face((bystander, subject), (100, 100)) is subject
    assert nearest_face((), (100, 100)) is None
