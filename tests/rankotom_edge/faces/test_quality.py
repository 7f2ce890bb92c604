"""A poor crop is called poor, with the reason a person can act on; a good one is not."""

import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from rankotom_edge.faces.crop import FERPLUS_FRAMING, crop
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import (
    GOOD_AFTER,
    POOR,
    POOR_AFTER,
    REASONS,
    Quality,
    QualityHistory,
    head_turn,
    measure_detail,
    measure_quality,
    share_inside,
)
from rankotom_edge.faces.tracker import CHECK_EVERY
from rankotom_edge.frame import Image

SIZE = 48


def quality_of(image: Image, face: Face) -> Quality:
    return measure_quality(image, face, crop(image, face, FERPLUS_FRAMING, SIZE, 1))


def noisy(image: NDArray[Any]) -> Image:
    grain = np.random.default_rng(0).normal(0, 12, image.shape)
    return np.clip(image + grain, 0, 255).astype(np.uint8)


def scaled(face: Face, factor: float) -> Face:
    def times(point: tuple[float, float]) -> tuple[float, float]:
        return point[0] * factor, point[1] * factor

    x, y, width, height = (number * factor for number in face.box)
    return Face(
        (x, y, width, height),
        times(face.left_eye),
        times(face.right_eye),
        times(face.nose),
        times(face.mouth),
        face.score,
    )


def test_a_good_portrait_has_no_reason_to_be_unsure_of(portrait: Image, face: Face) -> None:
    quality = quality_of(portrait, face)
    assert quality.reason is None
    assert quality.score >= POOR
    assert quality.score == min(getattr(quality, part) for part in REASONS)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda image: cv2.GaussianBlur(image, (0, 0), 9), "blurred"),
        (lambda image: cv2.blur(image, (25, 1)), "blurred"),  # by a motion across
        (lambda image: cv2.blur(image, (1, 25)), "blurred"),
        (lambda image: noisy(cv2.GaussianBlur(image, (0, 0), 9)), "blurred"),
        (lambda image: image // 20, "too dark"),
        (lambda image: (image // 10) + 110, "too little contrast"),
        (lambda image: np.clip(image.astype(int) * 4, 0, 255), "too bright"),
    ],
)
def test_damage_is_named(
    portrait: Image, face: Face, damage: Callable[[Image], Image], reason: str
) -> None:
    assert quality_of(np.asarray(damage(portrait), np.uint8), face).reason == reason


def test_a_face_of_a_few_pixels_is_too_small(portrait: Image, face: Face) -> None:
    factor = 6 / math.dist(face.left_eye, face.right_eye)
    tiny = cv2.resize(portrait, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
    quality = quality_of(np.asarray(tiny, np.uint8), scaled(face, factor))
    assert quality.size == pytest.approx(POOR * 6 / 9)
    assert quality.score < POOR


def test_a_face_that_the_detector_hardly_sees_is_partly_hidden(portrait: Image, face: Face) -> None:
    assert quality_of(portrait, replace(face, score=0.0)).reason == "partly hidden"


def test_a_face_half_out_of_the_picture_is_cut_off(portrait: Image, face: Face) -> None:
    x, _, width, _ = (int(number) for number in face.box)
    cut = np.ascontiguousarray(portrait[:, x + width // 2 :])
    moved = replace(
        scaled(face, 1.0),
        box=(face.box[0] - x - width // 2, *face.box[1:]),
    )
    assert share_inside(moved, cut) == pytest.approx(0.5, abs=0.02)
    assert measure_quality(cut, moved, crop(portrait, face, FERPLUS_FRAMING, SIZE, 1)).reason == (
        "cut off"
    )


@pytest.mark.parametrize(
    ("nose", "expected"), [((50.0, 60.0), 0.0), ((60.0, 60.0), 0.25), ((26.0, 60.0), 0.6)]
)
def test_the_turn_is_the_noses_distance_from_between_the_eyes(
    nose: tuple[float, float], expected: float
) -> None:
    face = Face((20, 20, 60, 80), (30, 50), (70, 50), nose, (50, 80), 0.9)
    assert head_turn(face) == pytest.approx(expected)


def test_a_tilted_head_is_not_a_turned_one() -> None:
    """The crop sets it upright."""
    angle = math.radians(30)
    across = np.array([math.cos(angle), math.sin(angle)])
    down = np.array([-math.sin(angle), math.cos(angle)])
    centre = np.array([100.0, 100.0])
    left, right, nose = centre - 20 * across, centre + 20 * across, centre + 15 * down
    face = Face((60, 60, 80, 80), tuple(left), tuple(right), tuple(nose), (100, 130), 0.9)
    assert head_turn(face) == pytest.approx(0, abs=1e-9)


def test_eyes_in_one_point_are_no_division_by_zero() -> None:
    face = Face((0, 0, 10, 10), (5, 5), (5, 5), (5, 6), (5, 8), 0.9)
    assert math.isinf(head_turn(face))
    grey = np.full((20, 20, 3), 128, np.uint8)
    quality = measure_quality(grey, face, np.full((1, SIZE, SIZE), 128, np.uint8))
    assert quality.score == 0


FERPLUS = Path(os.environ.get("RANKOTOM_DATA", Path.home() / ".cache" / "rankotom-edge"), "FERPlus")
VALID = FERPLUS / "data" / "FER2013Valid"


@pytest.mark.skipif(not VALID.is_dir(), reason="FERPlus valid is not in the data folder")
@pytest.mark.parametrize(
    ("damage", "least", "most"),
    [
        (lambda face: face, 0.0, 0.04),
        (lambda face: cv2.GaussianBlur(face, (0, 0), 1.5), 0.9, 1.0),
        (lambda face: face // 4, 0.0, 0.1),  # a dim room, which the model was trained for
        (lambda face: face // 14, 0.9, 1.0),
        (lambda face: face // 8 + 100, 0.9, 1.0),
        (lambda face: np.clip(face.astype(int) * 4, 0, 255), 0.8, 1.0),
    ],
)
def test_held_out_faces_are_good_enough_as_they_are_and_poor_once_damaged(
    damage: Callable[[Image], Image], least: float, most: float
) -> None:
    left, right, mouth = (tuple(SIZE * point) for point in FERPLUS_FRAMING.points)
    face = Face((4, 4, 40, 40), left, right, (SIZE * 0.5, SIZE * 0.6), mouth, 0.9)
    poor = []
    for path in sorted(VALID.glob("*[13579].png"))[:300]:
        picture = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        damaged = np.asarray(damage(np.asarray(picture, np.uint8)), np.uint8)
        coloured = np.asarray(cv2.cvtColor(damaged, cv2.COLOR_GRAY2BGR), np.uint8)
        quality = measure_quality(coloured, face, damaged[None])
        poor.append(quality.reason is not None)
    assert least <= np.mean(poor) <= most


def test_noise_is_no_detail_and_hides_none() -> None:
    random = np.random.default_rng(0)
    flat = np.full((48, 48), 128, np.uint8)
    grain = np.clip(flat + random.normal(0, 8, flat.shape), 0, 255).astype(np.uint8)
    assert measure_detail(flat) == 0
    assert measure_detail(grain) < 5
    stripes = np.tile(np.array([90, 90, 160, 160], np.uint8), (48, 12))
    assert measure_detail(stripes) == 0  # it changes in one direction alone
    squares = np.where(stripes == stripes.T[:48, :48], 160, 90).astype(np.uint8)
    assert measure_detail(squares) > 15


def test_one_look_in_vain_is_not_yet_a_hidden_face(portrait: Image, face: Face) -> None:
    seen, missed = crop(portrait, face, FERPLUS_FRAMING, SIZE, 1), replace(face, score=0.0)
    qualities = QualityHistory()

    def reason_at(time: float, shown: Face, found: bool) -> str | None:
        return qualities.update(7, shown, found, time, portrait, seen).reason

    assert reason_at(0.0, face, True) is None
    assert reason_at(0.1, missed, False) is None
    assert reason_at(0.1 + CHECK_EVERY, face, True) is None
    assert reason_at(1.0, missed, False) is None
    assert reason_at(1.01 + POOR_AFTER, missed, False) == "partly hidden"
    assert reason_at(1.2 + POOR_AFTER, face, True) == "partly hidden"
    assert reason_at(1.3 + POOR_AFTER, missed, False) == "partly hidden"
    assert reason_at(1.4 + POOR_AFTER, face, True) == "partly hidden"
    assert reason_at(1.41 + POOR_AFTER + GOOD_AFTER, face, False) is None
    again = 1.5 + POOR_AFTER + GOOD_AFTER
    assert reason_at(again, missed, False) is None  # it waits again
    assert reason_at(again + 0.01 + POOR_AFTER, missed, False) == "partly hidden"
    assert reason_at(again + POOR_AFTER + 0.1, face, True) == "partly hidden"
    assert reason_at(again + POOR_AFTER + GOOD_AFTER, face, False) == "partly hidden"


def test_a_face_that_is_poor_when_it_comes_is_called_so_at_once(
    portrait: Image, face: Face
) -> None:
    seen, missed = crop(portrait, face, FERPLUS_FRAMING, SIZE, 1), replace(face, score=0.0)
    qualities = QualityHistory()
    assert qualities.update(7, missed, True, 0.0, portrait, seen).reason == "partly hidden"
    assert qualities.update(8, face, True, 0.0, portrait, seen).reason is None
    qualities.forget_others([8])
    assert qualities.update(7, face, True, 0.1, portrait, seen).reason is None


def test_a_blurred_face_that_is_missed_once_is_not_lost_yet(portrait: Image, face: Face) -> None:
    blurred = np.asarray(cv2.GaussianBlur(portrait, (0, 0), 3), np.uint8)
    seen, missed = crop(blurred, face, FERPLUS_FRAMING, SIZE, 1), replace(face, score=0.0)
    qualities = QualityHistory()

    def grade_at(time: float, shown: Face, found: bool) -> int:
        return qualities.update(7, shown, found, time, blurred, seen).grade

    assert grade_at(0.0, face, True) == 1
    assert grade_at(0.1, missed, False) == 1
    assert grade_at(0.11 + POOR_AFTER, missed, False) == 0
