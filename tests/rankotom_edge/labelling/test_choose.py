from collections import Counter
from itertools import pairwise

import numpy as np

from calib.rater import label_information
from calib.temperature import softmax
from rankotom_edge.labelling.choose import PARTS, choose_faces, choose_rows
from rankotom_edge.labelling.face import FaceToLabel


def face(number: int, confidence: float, group: str | None = None) -> FaceToLabel:
    logits = np.full(8, np.log((1 - confidence) / 7))
    logits[0] = np.log(confidence)
    picture = np.zeros((2, 2, 3), np.uint8)
    return FaceToLabel(f"{number:04d}", group or f"track {number}", picture, logits)


def confidence(chosen: FaceToLabel) -> float:
    return float(softmax(chosen.logits[np.newaxis]).max())


def test_unsure_faces_are_chosen_as_often_as_sure_ones_though_there_are_fewer() -> None:
    sure = [face(number, 0.97) for number in range(900)]
    unsure = [face(1000 + number, 0.4) for number in range(100)]
    chosen = choose_faces([*sure, *unsure], 40)
    assert sum(confidence(each) > 0.9 for each in chosen) == 20


def test_where_a_part_has_too_few_faces_the_others_make_up_for_it() -> None:
    faces = [face(number, 0.95) for number in range(50)] + [face(100, 0.3)]
    chosen = choose_faces(faces, 30)
    assert len(chosen) == 30
    assert sum(confidence(each) < 0.5 for each in chosen) == 1


def test_one_busy_track_does_not_crowd_out_the_others() -> None:
    faces = [face(number, 0.9, "track 1") for number in range(100)]
    faces += [face(200 + number, 0.9, f"track {number + 2}") for number in range(9)]
    groups = Counter(each.group for each in choose_faces(faces, 20))
    assert len(groups) == 10
    assert groups["track 1"] == 11


def test_the_choice_does_not_depend_on_the_order_of_the_faces() -> None:
    faces = [face(number, 0.3 + number / 200) for number in range(120)]
    keys = [each.key for each in choose_faces(faces, 25)]
    assert [each.key for each in choose_faces(faces[::-1], 25)] == keys


def test_within_a_part_the_faces_whose_labels_tell_most_come_first() -> None:
    logits = 2 * np.random.default_rng(0).normal(size=(200, 8))
    confidence, telling = softmax(logits).max(axis=1), label_information(logits)
    chosen = np.array(choose_rows(logits, [str(row) for row in range(200)], 40))
    edges = np.linspace(confidence.min(), confidence.max(), PARTS + 1)
    for low, high in pairwise(edges):
        inside = (confidence >= low) & (confidence < high)
        left_out = np.setdiff1d(np.flatnonzero(inside), chosen)
        if left_out.size:
            kept = np.intersect1d(np.flatnonzero(inside), chosen)
            assert telling[kept].min() >= telling[left_out].max()


def test_all_are_chosen_where_there_are_fewer_than_wanted() -> None:
    assert len(choose_faces([face(1, 0.5), face(2, 0.5)], 100)) == 2
    assert choose_faces([], 100) == []
