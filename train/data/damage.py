"""Damage to a picture of a face: too small, blurred, dark, bright, flat, noisy, turned, covered.

``train.experiments.damage`` measures each damage at fixed strengths, in grey or colour.
``damage_faces`` draws damages and strengths at random for training: the target stays that of the
undamaged face, so the student learns the average target of all faces that look like the damaged
one, and becomes less sure where there is little to see. The random ranges were chosen by eye,
slightly wider than the experiment's, so that none of its rows lies at the edge of what was learned.
"""

import math
from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from rankotom_edge.faces.crop import FERPLUS_FRAMING
from rankotom_edge.frame import Image
from train.data.face_covers import TRAINING_COVERS, Cover, draw_cover_on_crop

Random = np.random.Generator
Damage = Callable[[Image], Image]

TWO_DAMAGES = 0.35  # share of the damaged faces that have two; chosen by eye
# Share of the damaged faces that the sensor then makes noisy, and that a stream then compresses:
# noise hides a blur from a network that looks for lost detail. Chosen by eye.
SENSOR_NOISE, STREAMED = 0.3, 0.2


def darken(times: float) -> Damage:
    return lambda face: _pixels(face / times)


def overexpose(times: float) -> Damage:
    return lambda face: _pixels(face * float(times))


def reduce_contrast(share: float) -> Damage:
    return lambda face: _pixels(face.mean() + share * (face - face.mean()))


def add_noise(level: float, random: Random | None = None) -> Damage:
    """Gaussian noise of ``level`` grey levels, the same in each channel."""
    random = random or np.random.default_rng(0)

    def damage(face: Image) -> Image:
        noise = random.normal(0, level, face.shape[:2])
        return _pixels(face + (noise if face.ndim == 2 else noise[..., None]))

    return damage


def blur(pixels: float) -> Damage:
    return lambda face: np.asarray(cv2.GaussianBlur(face, (0, 0), pixels), np.uint8)


def motion_blur(pixels: int, degrees: float) -> Damage:
    """Motion while the shutter is open."""
    line = np.zeros((pixels, pixels), np.float32)
    line[pixels // 2] = 1
    rotation = cv2.getRotationMatrix2D((pixels // 2, pixels // 2), degrees, 1)
    rotated = np.asarray(cv2.warpAffine(line, rotation, (pixels, pixels)), np.float32)
    kernel = rotated / rotated.sum()
    return lambda face: np.asarray(
        cv2.filter2D(face, -1, kernel, borderType=cv2.BORDER_REPLICATE), np.uint8
    )


def shrink(width: int) -> Damage:
    return lambda face: np.asarray(
        cv2.resize(face, (width, width), interpolation=cv2.INTER_AREA), np.uint8
    )


def reduce_resolution(width: int) -> Damage:
    """Shrink to ``width`` pixels and enlarge again."""
    return lambda face: np.asarray(cv2.resize(shrink(width)(face), face.shape[1::-1]), np.uint8)


def compress(quality: int) -> Damage:
    """JPEG, grey only."""
    setting = [cv2.IMWRITE_JPEG_QUALITY, quality]
    return lambda face: np.asarray(
        cv2.imdecode(cv2.imencode(".jpg", face, setting)[1], cv2.IMREAD_GRAYSCALE), np.uint8
    )


def cover_with(cover: Cover, random: Random | None = None) -> Damage:
    """The cover differs slightly from face to face."""
    random = random or np.random.default_rng(0)

    def damage(face: Image) -> Image:
        grey = face.ndim == 2
        picture = np.asarray(cv2.cvtColor(face, cv2.COLOR_GRAY2BGR), np.uint8) if grey else face
        drawn = draw_cover_on_crop(picture, FERPLUS_FRAMING.points, cover, random)
        return np.ascontiguousarray(drawn[..., 0]) if grey else drawn

    return damage


def in_turn(first: Damage, second: Damage) -> Damage:
    return lambda face: second(first(face))


def turn_at_random(random: Random) -> Damage:
    """As if the head were turned or nodding (narrower at one side or at an end), and leaning."""
    far, near = random.uniform(0.45, 0.95), random.uniform(0.0, 0.12)
    corners = np.array([[0, near], [far, -near], [far, 1 + near], [0, 1 - near]]) - 0.5
    corners[:, 0] += (1 - far) / 2
    if random.random() < 0.5:  # to the other side
        corners = corners[[1, 0, 3, 2]] * [-1, 1]
    if random.random() < 0.3:  # nodding
        corners = corners[:, ::-1][[0, 3, 2, 1]]
    angle = random.uniform(-0.5, 0.5)
    roll = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])

    def damage(face: Image) -> Image:
        size = len(face)
        before, after = square * size, (corners @ roll.T + 0.5) * size
        view = cv2.getPerspectiveTransform(before.astype(np.float32), after.astype(np.float32))
        drawn = cv2.warpPerspective(face, view, (size, size), borderMode=cv2.BORDER_REPLICATE)
        return np.asarray(drawn, np.uint8)

    return damage


def cover_at_random(random: Random) -> Damage:
    return cover_with(TRAINING_COVERS[random.integers(len(TRAINING_COVERS))], random)


def _log_uniform(random: Random, low: float, high: float) -> float:
    return math.exp(random.uniform(math.log(low), math.log(high)))


def _pixels(values: NDArray[np.floating[Any]]) -> Image:
    return np.asarray(np.clip(values, 0, 255), np.uint8)


# How often each is drawn relative to the others, and how strong it is. Of two damages the one
# further up comes first: what is in front of the camera before what the camera does.
RANDOM_DAMAGES: dict[str, tuple[float, Callable[[Random], Damage]]] = {
    "cover": (3.0, cover_at_random),
    "turn": (1.5, turn_at_random),
    "blur": (1.5, lambda random: blur(_log_uniform(random, 0.5, 3.0))),
    "motion": (
        2.0,
        lambda random: motion_blur(int(random.integers(3, 14)) | 1, random.uniform(0, 180)),
    ),
    "resolution": (2.0, lambda random: reduce_resolution(round(_log_uniform(random, 10, 36)))),
    "glare": (1.2, lambda random: overexpose(_log_uniform(random, 1.2, 5.0))),
    "darkness": (1.2, lambda random: darken(_log_uniform(random, 1.5, 36))),
    "contrast": (1.2, lambda random: reduce_contrast(_log_uniform(random, 0.07, 0.7))),
    "noise": (1.2, lambda random: add_noise(_log_uniform(random, 2, 25), random)),
    "compression": (1.2, lambda random: compress(round(_log_uniform(random, 4, 50)))),
}
DRAW_DAMAGE = [draw for _, draw in RANDOM_DAMAGES.values()]
WEIGHTS = np.array([weight for weight, _ in RANDOM_DAMAGES.values()])


def damage_faces(faces: Image, share: float, seed: int, places: NDArray[np.int64]) -> Image:
    """Damage this share of the grey faces (n, 1, h, w).

    Each face's damage depends only on the seed and its place in the batch, so several processes
    that share a batch damage it as one would.
    """
    damaged = faces.copy()
    for index, place in enumerate(places):
        random = np.random.default_rng((seed, int(place)))
        if random.random() < share:
            damaged[index, 0] = damage_at_random(faces[index, 0], random)
    return damaged


def damage_at_random(face: Image, random: Random) -> Image:
    count = 2 if random.random() < TWO_DAMAGES else 1
    p = WEIGHTS / WEIGHTS.sum()
    for which in sorted(random.choice(len(WEIGHTS), count, replace=False, p=p)):
        face = DRAW_DAMAGE[which](random)(face)
    if random.random() < SENSOR_NOISE:
        face = add_noise(_log_uniform(random, 1, 10), random)(face)
    if random.random() < STREAMED:
        face = compress(round(_log_uniform(random, 15, 90)))(face)
    return face
