"""The evidence lies on the part of the face that it is of."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.faces.crop import FERPLUS_FRAMING
from rankotom_edge.faces.face import Face
from rankotom_edge.views.drawing.activation_map import draw_evidence
from rankotom_edge.views.drawing.picture_area import PictureArea
from rankotom_edge.views.drawing.rect import Rect

AREA = PictureArea(Rect(0, 0, 640, 480), 1.0)
UPRIGHT = Face((100, 120, 110, 110), (133, 153), (177, 153), (155, 175), (155, 202.5), 0.9)


def brightest(showing: Any, face: Face, evidence: np.ndarray) -> tuple[float, float]:
    """The middle of what the evidence changes most, on a grey picture."""
    plain = np.full((480, 640, 3), 90, np.uint8)
    lit = plain.copy()
    reading = replace(showing.reading(happiness=0.83), face=face, evidence=evidence)
    draw_evidence(lit, reading, FERPLUS_FRAMING, AREA)
    change = np.abs(plain.astype(int) - lit).sum(axis=2)
    rows, columns = np.nonzero(change > 0.8 * change.max())
    return float(columns.mean()), float(rows.mean())


def mouth_cell() -> np.ndarray:
    evidence = np.zeros((len(EMOTIONS), 3, 3), np.float32)
    evidence[EMOTIONS.index("happiness"), 2, 1] = 5  # below, in the middle
    return evidence


def test_the_evidence_lies_on_the_part_of_the_face_that_it_is_of(showing: Any) -> None:
    """One cell of the map's nine is positive; the crop contract says where on the face it is."""
    evidence = mouth_cell()
    evidence[EMOTIONS.index("anger"), 0, 0] = 50  # of another emotion: not shown
    assert brightest(showing, UPRIGHT, evidence) == pytest.approx(UPRIGHT.mouth, abs=15)


def test_a_turned_face_turns_its_evidence(showing: Any) -> None:
    lying = replace(UPRIGHT, left_eye=(150, 230), right_eye=(150, 180), mouth=(205, 205))
    assert brightest(showing, lying, mouth_cell()) == pytest.approx((205, 205), abs=15)


def test_without_evidence_nothing_is_drawn(showing: Any) -> None:
    image = np.full((480, 640, 3), 90, np.uint8)
    reading = showing.reading(happiness=0.83)
    for evidence in (None, -np.ones((len(EMOTIONS), 3, 3), np.float32)):
        draw_evidence(image, replace(reading, evidence=evidence), FERPLUS_FRAMING, AREA)
    assert (image == 90).all()
