"""The colours of the emotions can be told apart with every kind of colour vision."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from rankotom_edge.views.palette import (
    EMOTION_HEX,
    GROUND,
    GROUND_HEX,
    TEXT_HEX,
    bgr,
    text_colour_on,
)

Array = NDArray[np.float64]

# Machado, Oliveira and Fernandes 2009, at full severity, on linear RGB.
VISIONS = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
         [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
         [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
         [0.004733, 0.691367, 0.303900]]
    ),
}  # fmt: skip
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(colour: str) -> Array:
    shares = np.array(bgr(colour)[::-1]) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def lab(colour: str, vision: Array) -> Array:
    xyz = TO_XYZ @ np.clip(vision @ linear(colour), 0, 1) / WHITE
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def luminance(colour: str) -> float:
    return float(TO_XYZ[1] @ linear(colour))


@pytest.mark.parametrize("vision", VISIONS)
def test_every_kind_of_colour_vision_tells_the_emotions_apart(vision: str) -> None:
    """CIE76: 2.3 is just noticeable; 16 is another colour, side by side and apart."""
    seen = {name: lab(colour, VISIONS[vision]) for name, colour in EMOTION_HEX.items()}
    apart = {
        pair: float(np.linalg.norm(seen[pair[0]] - seen[pair[1]]))
        for pair in itertools.combinations(seen, 2)
    }
    assert min(apart.values()) > 16, min(apart, key=lambda pair: apart[pair])


@pytest.mark.parametrize("name", EMOTION_HEX)
def test_every_colour_stands_out_from_the_dark_ground(name: str) -> None:
    """3 is what WCAG 2.2 asks of the parts of a chart."""
    contrast = (luminance(EMOTION_HEX[name]) + 0.05) / (luminance(GROUND_HEX) + 0.05)
    assert contrast > 3


@pytest.mark.parametrize("name", EMOTION_HEX)
def test_a_number_on_a_colour_is_written_in_the_ink_that_is_read_better(name: str) -> None:
    """Bold digits of 12 pixels and more; 4 is between what WCAG asks of large and small text."""
    colour = luminance(EMOTION_HEX[name])
    dark = (colour + 0.05) / (luminance(GROUND_HEX) + 0.05)
    light = (luminance(TEXT_HEX) + 0.05) / (colour + 0.05)
    chosen = dark if text_colour_on(bgr(EMOTION_HEX[name])) == GROUND else light
    assert chosen > 4
    assert chosen > 0.95 * max(dark, light)
