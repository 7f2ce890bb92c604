from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from calib.errors import RankotomError
from rankotom_edge.crop import FERPLUS_FRAMING, Framing, crop, resized, similarity
from rankotom_edge.faces import Face


def face_at(points: NDArray[np.float64]) -> Face:
    left_eye, right_eye, mouth = (tuple(point) for point in points.tolist())
    return Face((0, 0, 1, 1), left_eye, right_eye, (0, 0), mouth, score=1.0)


def turned(points: NDArray[np.float64], degrees: float) -> NDArray[np.float64]:
    angle = np.radians(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.asarray(points @ turn.T, dtype=np.float64)


def moved(matrix: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    return points @ matrix[:, :2].T + matrix[:, 2]


def columns_with(size: int, brightness: NDArray[np.floating[Any]]) -> NDArray[np.uint8]:
    return np.broadcast_to(brightness[:, None], (size, size, 3)).astype(np.uint8)


TRIANGLE = np.array([[10.0, 20.0], [50.0, 20.0], [30.0, 60.0]])


@pytest.mark.parametrize("degrees", [-170.0, -20.0, 0.0, 35.0, 90.0])
@pytest.mark.parametrize("scale", [0.1, 1.0, 7.0])
def test_a_turned_scaled_and_shifted_face_is_brought_back_exactly(
    degrees: float, scale: float
) -> None:
    source = turned(TRIANGLE, degrees) * scale + [100.0, -40.0]
    np.testing.assert_allclose(moved(similarity(source, TRIANGLE), source), TRIANGLE, atol=1e-9)


def test_a_face_of_another_shape_is_met_halfway_and_never_sheared_or_mirrored() -> None:
    # A mouth 10 lower than the target's: by hand, the least-squares scale is
    # sum(s.t) / sum(s.s) over centred points.
    source = TRIANGLE + np.array([[0, 0], [0, 0], [0, 10]])
    centred_source, centred_target = source - source.mean(0), TRIANGLE - TRIANGLE.mean(0)
    scale = (centred_source * centred_target).sum() / (centred_source**2).sum()
    matrix = similarity(source, TRIANGLE)
    np.testing.assert_allclose(matrix[:, :2], scale * np.eye(2), atol=1e-12)
    mirrored = similarity(TRIANGLE * [-1, 1], TRIANGLE)
    assert np.linalg.det(mirrored[:, :2]) > 0


def test_no_nearby_similarity_fits_better() -> None:
    rng = np.random.default_rng(0)
    source = TRIANGLE + rng.normal(0, 4, (3, 2))
    best = similarity(source, TRIANGLE)
    error = ((moved(best, source) - TRIANGLE) ** 2).sum()
    for real, imaginary, x, y in rng.normal(0, 0.01, (50, 4)):
        other = best + np.array([[real, -imaginary, x], [imaginary, real, y]])
        assert ((moved(other, source) - TRIANGLE) ** 2).sum() > error


def test_points_that_coincide_are_refused() -> None:
    with pytest.raises(RankotomError, match="one point"):
        similarity(np.ones((3, 2)), TRIANGLE)


@pytest.mark.parametrize("scale", [0.25, 1.0, 2.5, 3.0, 8.0])
def test_a_crop_of_the_contract_itself_is_the_picture_resized_and_not_shifted(
    scale: float,
) -> None:
    size = 48
    large = int(size * scale)
    ramp = columns_with(large, (np.arange(large) + 0.5) / scale * 5)
    cut = crop(ramp, face_at(FERPLUS_FRAMING.points * large), FERPLUS_FRAMING, size, 1)
    inside = slice(4, -4)  # the repeated border flattens the ramp's ends
    np.testing.assert_allclose(cut[0, 24, inside], (np.arange(size) + 0.5)[inside] * 5, atol=1)


def test_shrinking_averages_fine_stripes_instead_of_picking_some() -> None:
    stripes = columns_with(480, (np.arange(480) % 3 == 0) * 240.0)
    cut = crop(stripes, face_at(FERPLUS_FRAMING.points * 480), FERPLUS_FRAMING, 48, 1)
    # Three or four of every ten columns are lit; a single sample would see none or half a stripe.
    assert set(np.unique(cut)) <= set(range(71, 98))


def test_a_tilted_face_comes_out_upright() -> None:
    picture = np.zeros((200, 200, 3), np.uint8)
    points = turned((FERPLUS_FRAMING.points - 0.5) * 96, 25) + 100
    for x, y in points:
        picture[int(y) - 2 : int(y) + 3, int(x) - 2 : int(x) + 3] = 255
    cut = crop(picture, face_at(points), FERPLUS_FRAMING, 48, 1)[0]
    for x, y in FERPLUS_FRAMING.points * 48:
        assert cut[int(y), int(x)] > 100
    assert (cut > 100).sum() < 40


def test_beyond_the_border_the_picture_is_repeated() -> None:
    picture = np.full((40, 40, 3), 77, np.uint8)
    cut = crop(picture, face_at(FERPLUS_FRAMING.points * 48 - 30), FERPLUS_FRAMING, 48, 1)
    assert (cut == 77).all()


def test_colour_comes_out_as_red_green_blue_planes() -> None:
    picture = np.zeros((10, 20, 3), np.uint8)
    picture[:] = (10, 20, 30)  # blue, green, red
    assert resized(picture, 5, 3).shape == (3, 5, 5)
    assert resized(picture, 5, 3)[:, 0, 0].tolist() == [30, 20, 10]


def test_a_grey_picture_of_the_right_size_keeps_every_byte() -> None:
    grey = np.arange(256, dtype=np.uint8).reshape(16, 16)
    assert (resized(np.repeat(grey[..., None], 3, axis=2), 16, 1)[0] == grey).all()


def test_a_framing_survives_json() -> None:
    assert Framing.from_json(json.loads(json.dumps(FERPLUS_FRAMING.as_json()))) == FERPLUS_FRAMING


@pytest.mark.parametrize("mouth", [None, [0.5], [0.5, "low"], [0.5, float("nan")], "ab"])
def test_a_damaged_framing_is_refused_by_the_name_of_its_point(mouth: object) -> None:
    with pytest.raises(RankotomError, match="mouth"):
        Framing.from_json({**FERPLUS_FRAMING.as_json(), "mouth": mouth})


def test_the_crop_loads_neither_torch_nor_mediapipe() -> None:
    code = "import sys, rankotom_edge.crop; print({'torch', 'mediapipe'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
