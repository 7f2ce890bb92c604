"""The demo, for a machine without a camera: a portrait, moved as if by a hand-held camera.

The portrait is NASA's of Eileen Collins, astronaut (1992), from its Great Images database
(flic.kr/p/r9qvLn): no known copyright restrictions, in the public domain. It is scikit-image's
``data.astronaut()``, 512x512, saved as a JPEG of quality 92.
"""

import math
from collections.abc import Generator
from importlib import resources
from itertools import count

import cv2
import numpy as np

from rankotom_edge.frame import Image
from rankotom_edge.geometry import Point
from rankotom_edge.sources.playback_source import Clip, TimedImage

PORTRAIT = "eileen-collins.jpg"
SIZE = (640, 480)
FPS = 30.0

# In the portrait's pixels: the centre of the view and its width. The face is 95 pixels wide, so 150
# on screen; the widest swing stays inside the portrait (a test checks that).
CENTRE: Point = (235.0, 185.0)
VIEW_WIDTH = 400.0

# Seconds. Periods without a common multiple, so that the movement never repeats.
SLOW, MIDDLE, FAST = 7.3, 3.1, 1.3


def load_portrait() -> Image:
    data = resources.files("rankotom_edge.sources").joinpath(PORTRAIT).read_bytes()
    return np.asarray(cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR), dtype=np.uint8)


def demo_picture(portrait: Image, time: float, size: tuple[int, int] = SIZE) -> Image:
    """The view ``time`` seconds after the start. The amplitudes are chosen by eye."""
    width, height = size
    drift_x = 9 * _sway(time, SLOW) + 3 * _sway(time, MIDDLE) + 0.7 * _sway(time, FAST)
    drift_y = 6 * _sway(time + 2, SLOW) + 3 * _sway(time + 1, MIDDLE) + 0.7 * _sway(time, 1.1)
    degrees = 2 * _sway(time + 4, SLOW) + _sway(time, MIDDLE)
    zoom = width / VIEW_WIDTH * (1 + 0.05 * _sway(time, 2 * SLOW))
    centre = (CENTRE[0] + drift_x, CENTRE[1] + drift_y)
    to_screen = cv2.getRotationMatrix2D(centre, degrees, zoom)
    to_screen[:, 2] += np.array([width / 2 - centre[0], height / 2 - centre[1]])
    seen = cv2.warpAffine(portrait, to_screen, size, borderMode=cv2.BORDER_REFLECT)
    return np.asarray(seen, dtype=np.uint8)


def _sway(time: float, period: float) -> float:
    return math.sin(2 * math.pi * time / period)


class DemoClip(Clip):
    """Never ends."""

    name = "demo: a still portrait"
    still = True
    fps = FPS

    def images(self) -> Generator[TimedImage, None, None]:
        portrait = load_portrait()
        for index in count():
            time = index / FPS
            yield TimedImage(demo_picture(portrait, time), time)
