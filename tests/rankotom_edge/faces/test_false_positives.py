"""What only resembles a face is rejected by its points, and by several detections."""

import cmath
import math
from dataclasses import replace

import pytest

from rankotom_edge.faces.face import Face
from rankotom_edge.faces.false_positives import ENOUGH_EVIDENCE, add_evidence, is_plausible
from rankotom_edge.geometry import Similarity

# Eyes 40 apart, the mouth 42 below them, as in the middle of LFW.
FACE = Face((52, 40, 96, 96), (80, 70), (120, 70), (100, 93), (100, 112), score=0.9)


def turned(face: Face, degrees: float) -> Face:
    return face.transform(Similarity(cmath.rect(1, math.radians(degrees)), 0))


@pytest.mark.parametrize("degrees", [0, 45, -90, 180])
def test_a_face_is_plausible_at_any_tilt(degrees: float) -> None:
    assert is_plausible(turned(FACE, degrees))


@pytest.mark.parametrize(
    "change",
    [
        {"nose": (88, 90), "left_eye": (84, 70), "right_eye": (108, 70)},  # half profile
        {"nose": (100, 78)},  # head thrown back
        {"mouth": (100, 118)},  # mouth wide open
    ],
)
def test_a_face_in_motion_stays_plausible(change: dict[str, tuple[float, float]]) -> None:
    assert is_plausible(replace(FACE, **change))


@pytest.mark.parametrize(
    "change",
    [
        {"left_eye": (120, 70), "right_eye": (80, 70)},  # mirrored
        {"right_eye": (84, 70)},  # eyes in one place
        {"mouth": (140, 75)},  # the mouth beside the eyes
        {"nose": (100, 120)},  # the nose below the mouth
        {"nose": (60, 90)},  # the nose beside the face
        {"box": (20, 0, 200, 200)},  # a box that belongs to other points
        {"left_eye": (100, 70), "right_eye": (100, 70)},  # one point
        {"mouth": (100, 70)},
    ],
)
def test_points_that_no_face_has_are_not_plausible(
    change: dict[str, tuple[float, float]],
) -> None:
    assert not is_plausible(replace(FACE, **change))


def test_a_face_is_accepted_after_several_good_detections() -> None:
    evidence, detections = 0.0, 0
    while evidence < ENOUGH_EVIDENCE:
        evidence, detections = add_evidence(evidence, 0.9), detections + 1
    assert detections == 3
    # The best two detections in a row of a printed skull.
    assert add_evidence(add_evidence(0.0, 0.73), 0.67) < ENOUGH_EVIDENCE
    assert add_evidence(0.5, 0.0) == 0
