"""Faces as a student sees them: spoiled as by a camera, by light, or by something before them.

The teacher answers for the clean face. The student, who sees what is left of it, learns the mean of
the clean answers that fit what it sees: it becomes less sure by itself where there is little to
see. Ranges are somewhat wider than those of ``train.experiments.damage``'s table, so that no row lies at an
edge of what was learned; within them chosen by eye.
"""

import math
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from rankotom_edge.faces.crop import FERPLUS_FRAMING
from rankotom_edge.frame import Image
from train.data.face_covers import COVERS, Canvas, draw_cover_on_crop

Random = np.random.Generator
Spoil = Callable[[Image, Random], Image]  # a grey face (h, w) to another of its shape

TWICE = 0.35  # share of the spoiled faces that are so in two ways


def spoil_faces(faces: Image, share: float, seed: int, places: NDArray[np.int64]) -> Image:
    """Some of the faces (n, 1, h, w) spoiled, each by the seed and its place in the batch alone:
    several processes that share a batch spoil it as one would."""
    spoiled = faces.copy()
    for index, place in enumerate(places):
        random = np.random.default_rng((seed, int(place)))
        if random.random() < share:
            spoiled[index, 0] = spoil(faces[index, 0], random)
    return spoiled


def spoil(face: Image, random: Random) -> Image:
    count = 2 if random.random() < TWICE else 1
    # In the order of the table: what is before the face comes first, the camera's part last.
    for way in sorted(random.choice(len(WAYS), count, replace=False, p=SHARES)):
        face = WAYS[way][0](face, random)
    return face


def covered(face: Image, random: Random) -> Image:
    """By one of the things that ``train.data.face_covers`` draws, glasses, hair, or an oval of any kind."""
    coloured = np.asarray(cv2.cvtColor(face, cv2.COLOR_GRAY2BGR), np.uint8)
    drawn = draw_cover_on_crop(
        coloured, FERPLUS_FRAMING.points, THINGS[random.integers(len(THINGS))], random
    )
    return np.ascontiguousarray(drawn[:, :, 0])


def dark_glasses(canvas: Canvas, random: Random) -> None:
    colour = np.full(3, random.uniform(5, 70))
    reach = (random.uniform(0.3, 0.46), random.uniform(0.2, 0.36))
    canvas.fill([(-0.3, -1.12), (0.3, -1.12), (0.3, -1.02), (-0.3, -1.02)], colour)
    for side in (-0.48, 0.48):
        canvas.oval((side, -0.97), reach, colour)


def hair(canvas: Canvas, random: Random) -> None:
    """A fringe, over one eye or both."""
    colour = np.full(3, random.uniform(10, 200))
    left, right = random.uniform(-1.9, -0.7, 2)
    canvas.fill([(-1.5, -2.5), (1.5, -2.5), (1.5, right + 0.2), (0, -1.3), (-1.5, left)], colour)
    canvas.fill([(-1.5, -2.5), (0.2, -2.5), (-0.2, left), (-1.5, left + 0.5)], colour * 0.8)


def anything(canvas: Canvas, random: Random) -> None:
    """An oval of any grey, anywhere on the face."""
    colour = canvas.skin * random.uniform(0.3, 1.5)
    middle = (random.uniform(-0.9, 0.9), random.uniform(-1.6, 0.6))
    reach = (random.uniform(0.2, 0.7), random.uniform(0.2, 0.6))
    canvas.oval(middle, reach, colour, random.uniform(0, math.pi))


THINGS = (*COVERS.values(), dark_glasses, hair, anything, anything)


def turned(face: Image, random: Random) -> Image:
    """As a head that is turned or tilted: narrower on one side, and rolled."""
    size = len(face)
    far, near = random.uniform(0.45, 0.95), random.uniform(0.0, 0.12)
    corners = np.array([[0, near], [far, -near], [far, 1 + near], [0, 1 - near]]) - 0.5
    corners[:, 0] += (1 - far) / 2
    if random.random() < 0.5:
        corners = corners[[1, 0, 3, 2]] * [-1, 1]
    if random.random() < 0.3:  # nodding
        corners = corners[:, ::-1][[0, 3, 2, 1]]
    angle = random.uniform(-0.5, 0.5)
    roll = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * size
    ends = ((corners @ roll.T) + 0.5) * size
    seen = cv2.getPerspectiveTransform(square.astype(np.float32), ends.astype(np.float32))
    drawn = cv2.warpPerspective(face, seen, (size, size), borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(drawn, np.uint8)


def small(face: Image, random: Random) -> Image:
    size, width = len(face), round(_spread(random, 10, 36))
    few = cv2.resize(face, (width, width), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(few, (size, size), interpolation=cv2.INTER_LINEAR), np.uint8)


def blurred(face: Image, random: Random) -> Image:
    return np.asarray(cv2.GaussianBlur(face, (0, 0), _spread(random, 0.5, 3.0)), np.uint8)


def moved(face: Image, random: Random) -> Image:
    """As by a motion while the shutter is open."""
    length = int(random.integers(3, 14)) | 1
    way = np.zeros((length, length), np.float32)
    way[length // 2] = 1
    middle = (length // 2, length // 2)
    turn = cv2.getRotationMatrix2D(middle, random.uniform(0, 180), 1)
    kernel = np.asarray(cv2.warpAffine(way, turn, (length, length)), np.float32)
    drawn = cv2.filter2D(face, -1, kernel / kernel.sum(), borderType=cv2.BORDER_REPLICATE)
    return np.asarray(drawn, np.uint8)


def dark(face: Image, random: Random) -> Image:
    return (face / _spread(random, 1.5, 36)).astype(np.uint8)


def bright(face: Image, random: Random) -> Image:
    return _bytes(face * _spread(random, 1.2, 5.0))


def flat(face: Image, random: Random) -> Image:
    mean = face.mean()
    return _bytes(mean + _spread(random, 0.07, 0.7) * (face - mean))


def noisy(face: Image, random: Random) -> Image:
    return _bytes(face + random.normal(0, _spread(random, 2, 25), face.shape))


def compressed(face: Image, random: Random) -> Image:
    quality = [cv2.IMWRITE_JPEG_QUALITY, round(_spread(random, 4, 50))]
    return np.asarray(cv2.imdecode(cv2.imencode(".jpg", face, quality)[1], 0), np.uint8)


def _spread(random: Random, low: float, high: float) -> float:
    """Between the two, as likely to double as to halve."""
    return math.exp(random.uniform(math.log(low), math.log(high)))


def _bytes(values: NDArray[np.floating[Any]]) -> Image:
    return np.asarray(np.clip(values, 0, 255), np.uint8)


# And how often each is meant, compared with the others.
WAYS: tuple[tuple[Spoil, float], ...] = (
    (covered, 3.0),
    (turned, 1.5),
    (blurred, 1.5),
    (moved, 2.0),
    (small, 2.0),
    (bright, 1.2),
    (dark, 1.2),
    (flat, 1.2),
    (noisy, 1.2),
    (compressed, 1.2),
)
SHARES = np.array([often for _, often in WAYS]) / sum(often for _, often in WAYS)
