"""The second pass finds the points of a face exactly, in a close-up or in half of a picture."""

import cmath
import math
from dataclasses import replace

import cv2
import numpy as np
import pytest

from rankotom_edge.faces import second_pass
from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.second_pass import (
    CLOSE_UP_SIZE,
    CLOSE_UP_WIDTHS,
    HALVES,
    MAX_LEAN,
    cut_close_up,
    detect_close_up,
    detect_in_half,
    remove_duplicates,
)
from rankotom_edge.frame import Image
from rankotom_edge.geometry import Similarity

# Eyes 40 apart, the mouth 42 below them, as in the middle of LFW.
FACE = Face((52, 40, 96, 96), (80, 70), (120, 70), (100, 93), (100, 112), score=0.9)


def turned(face: Face, degrees: float) -> Face:
    return face.transform(Similarity(cmath.rect(1, math.radians(degrees)), 0))


@pytest.mark.parametrize("degrees", [0, 4, 30])
def test_the_close_up_shows_the_face_in_the_middle_and_upright_if_it_leans(degrees: float) -> None:
    tilted = turned(FACE, degrees)
    _, way_back = cut_close_up(np.zeros((4000, 4000, 3), np.uint8), tilted)
    seen = tilted.transform(way_back.inverse)
    assert seen.centre == pytest.approx((CLOSE_UP_SIZE / 2, CLOSE_UP_SIZE / 2), abs=1)
    assert seen.box[2] == pytest.approx(CLOSE_UP_SIZE / 4)
    leans = math.dist(seen.left_eye, seen.right_eye) * math.sin(
        math.radians(min(degrees, MAX_LEAN))
    )
    assert abs(seen.left_eye[1] - seen.right_eye[1]) <= leans + 1e-6


@pytest.mark.parametrize("degrees", [0, 20])
@pytest.mark.parametrize("width", [12, 40, 150])
@pytest.mark.parametrize("centre", [(120, 100), (3, 190), (240, -20)])
def test_the_way_back_leads_to_the_pixels_that_were_drawn(
    centre: tuple[float, float], width: float, degrees: float
) -> None:
    across, down = np.meshgrid(np.arange(250, dtype=np.uint8), np.arange(200, dtype=np.uint8))
    ramp = np.dstack([across, down, np.full_like(across, 255)])
    turn = cmath.rect(width / FACE.box[2], math.radians(degrees))
    face = FACE.transform(Similarity(turn, complex(*centre) - turn * complex(*FACE.centre)))
    drawn, way_back = cut_close_up(ramp, face)
    assert drawn.shape == (CLOSE_UP_SIZE, CLOSE_UP_SIZE, 3)
    checked = 0
    for row, column in np.ndindex(CLOSE_UP_SIZE, CLOSE_UP_SIZE):
        x, y = way_back.apply((column + 0.5, row + 0.5))
        if 2 < x < 248 and 2 < y < 198 and min(row, column) > 0 and max(row, column) < 191:
            blue, green, red = drawn[row, column].tolist()
            assert red == 255, "nothing is drawn there"
            assert (blue + 0.5, green + 0.5) == pytest.approx((x, y), abs=1.1)
            checked += 1
    if centre != (240, -20):
        assert checked > 1000


def test_a_face_that_fills_the_picture_has_black_room_around_it() -> None:
    drawn, way_back = cut_close_up(np.full((100, 100, 3), 200, np.uint8), FACE)
    expected = CLOSE_UP_SIZE / CLOSE_UP_WIDTHS
    assert FACE.transform(way_back.inverse).box[2] == pytest.approx(expected)
    assert (drawn[0, 0] == 0).all()


def test_a_face_detected_twice_counts_once_as_the_surer_detection_has_it() -> None:
    other = replace(FACE, box=(300, 40, 96, 96))
    surer = replace(FACE, box=(55, 42, 96, 96), score=0.95)
    assert remove_duplicates([FACE, other, surer]) == (surer, other)


def test_the_second_pass_scatters_less_than_the_first(
    detector: FaceDetector, portrait: Image
) -> None:
    (truth,) = detect_close_up(detector.detect, portrait, detector.detect(portrait)[0])
    afar, near_by = [], []
    for x, y in np.random.default_rng(0).uniform((200, 160), (420, 320), (12, 2)):
        motion = Similarity(0.9, complex(x, y) - 0.9 * complex(*truth.centre))
        drawn = cv2.warpAffine(portrait, motion.matrix, (640, 480), borderMode=cv2.BORDER_REFLECT)
        frame = np.asarray(drawn, np.uint8)
        for found in detector.detect(frame)[:1]:
            (close,) = detect_close_up(detector.detect, frame, found)
            expected = np.array(truth.transform(motion).mouth)
            afar.append(math.dist(found.mouth, expected) / close.box[2])
            near_by.append(math.dist(close.mouth, expected) / close.box[2])
            assert close.score > 0.85
    assert len(near_by) >= 6
    assert np.mean(near_by) < 0.03
    assert np.mean(near_by) < 0.7 * np.mean(afar)


def test_a_head_that_leans_a_little_is_seen_as_exactly_as_one_that_is_drawn_upright(
    detector: FaceDetector, portrait: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    (truth,) = detect_close_up(detector.detect, portrait, detector.detect(portrait)[0])

    def mean_error(upright: float) -> float:
        monkeypatch.setattr(second_pass, "MAX_LEAN", upright)
        errors = []
        for degrees in (-4.5, -3, 3, 4.5):
            turn = cmath.rect(0.9, math.radians(degrees))
            motion = Similarity(turn, 320 + 240j - turn * complex(*truth.centre))
            matrix = motion.from_pixel_centres.matrix
            drawn = cv2.warpAffine(portrait, matrix, (640, 480), borderMode=cv2.BORDER_REFLECT)
            expected = truth.transform(motion)
            (close,) = detect_close_up(detector.detect, np.asarray(drawn, np.uint8), expected)
            errors += [
                math.dist(getattr(close, point), getattr(expected, point)) / expected.box[2]
                for point in ("left_eye", "right_eye", "mouth")
            ]
        return float(np.mean(errors))

    assert mean_error(MAX_LEAN) < mean_error(0.0) + 0.005


def test_where_there_is_no_face_the_second_pass_finds_none(detector: FaceDetector) -> None:
    wall = np.full((480, 640, 3), 150, np.uint8)
    assert detect_close_up(detector.detect, wall, FACE) == ()
    assert detect_close_up(detector.detect, wall, replace(FACE, box=(900, 900, 50, 50))) == ()


@pytest.mark.parametrize("tall", [False, True])
def test_the_halves_of_a_picture_overlap_and_their_faces_are_where_they_are(tall: bool) -> None:
    picture = np.zeros((640, 480, 3) if tall else (480, 640, 3), np.uint8)
    seen: list[tuple[int, ...]] = []

    def detect(part: Image) -> tuple[Face, ...]:
        seen.append(part.shape[:2])
        return (Face((10, 20, 30, 30), (20, 30), (30, 30), (25, 35), (25, 42), 0.9),)

    places = [detect_in_half(detect, picture, half)[0].box[:2] for half in HALVES]
    assert seen == [(384, 480) if tall else (480, 384)] * 2
    assert places == [(10, 20), (10, 276) if tall else (266, 20)]
