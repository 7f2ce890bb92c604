from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from calib.errors import RankotomError
from rankotom_edge.faces.crop import FERPLUS_FRAMING, Framing, crop, resize_framed
from rankotom_edge.faces.face import Face


def face_at(points: NDArray[np.float64]) -> Face:
    left_eye, right_eye, mouth = (tuple(point) for point in points.tolist())
    return Face((0, 0, 1, 1), left_eye, right_eye, (0, 0), mouth, score=1.0)


def turned(points: NDArray[np.float64], degrees: float) -> NDArray[np.float64]:
    angle = np.radians(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.asarray(points @ turn.T, dtype=np.float64)


def columns_with(size: int, brightness: NDArray[np.floating[Any]]) -> NDArray[np.uint8]:
    return np.broadcast_to(brightness[:, None], (size, size, 3)).astype(np.uint8)


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


@pytest.mark.parametrize("width", [48, 1000])  # large faces are averaged before they are drawn
@pytest.mark.parametrize("away", [-2.0, -0.6, 0.6, 2.0])
def test_beyond_the_border_the_picture_is_repeated(width: float, away: float) -> None:
    """To the left and right of a ramp from 10 to 49: its first column, and its last."""
    ramp = columns_with(40, np.arange(10, 50))
    face = face_at((FERPLUS_FRAMING.points + np.array([away, 0])) * width)
    cut = crop(ramp, face, FERPLUS_FRAMING, 48, 1)[0]
    outside = cut[:, -1] if away > 0 else cut[:, 0]
    nearest = 49 if away > 0 else 10
    # A large face is drawn from blocks, of which the last may end before the border.
    assert np.abs(outside.astype(int) - nearest).max() <= (0 if width == 48 else 7)


@pytest.mark.parametrize("degrees", [0.0, 20.0])
def test_a_face_of_any_size_looks_the_same(degrees: float) -> None:
    """A pattern as fine as a sharp face's, drawn larger and larger: averaged back to itself."""
    noise = np.random.default_rng(0).integers(0, 256, (96, 96), np.uint8)
    fine = np.asarray(cv2.GaussianBlur(noise, (0, 0), 0.8), np.uint8)
    cuts = []
    for times in (4, 7, 13):
        large = np.repeat(np.repeat(fine, times, axis=0), times, axis=1)
        points = turned((FERPLUS_FRAMING.points - 0.5) * 48 * times, degrees) + 48 * times
        picture = np.repeat(large[..., None], 3, axis=2)
        cuts.append(crop(picture, face_at(points), FERPLUS_FRAMING, 48, 1)[0].astype(int))
    assert max(np.abs(cut - cuts[0]).mean() for cut in cuts[1:]) < 0.1 * fine.std()
    if degrees == 0:
        assert np.abs(cuts[0] - fine[24:72, 24:72]).mean() < 0.12 * fine.std()


def test_colour_comes_out_as_red_green_blue_planes() -> None:
    picture = np.zeros((10, 20, 3), np.uint8)
    picture[:] = (10, 20, 30)  # blue, green, red
    assert resize_framed(picture, 5, 3).shape == (3, 5, 5)
    assert resize_framed(picture, 5, 3)[:, 0, 0].tolist() == [30, 20, 10]


def test_a_grey_picture_of_the_right_size_keeps_every_byte() -> None:
    grey = np.arange(256, dtype=np.uint8).reshape(16, 16)
    assert (resize_framed(np.repeat(grey[..., None], 3, axis=2), 16, 1)[0] == grey).all()


def test_a_framing_survives_json() -> None:
    assert Framing.from_json(json.loads(json.dumps(FERPLUS_FRAMING.as_json()))) == FERPLUS_FRAMING


@pytest.mark.parametrize("mouth", [None, [0.5], [0.5, "low"], [0.5, float("nan")], "ab"])
def test_a_damaged_framing_is_refused_by_the_name_of_its_point(mouth: object) -> None:
    with pytest.raises(RankotomError, match="mouth"):
        Framing.from_json({**FERPLUS_FRAMING.as_json(), "mouth": mouth})


def test_the_crop_loads_neither_torch_nor_mediapipe() -> None:
    code = (
        "import sys, rankotom_edge.faces.crop; print({'torch', 'mediapipe'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
