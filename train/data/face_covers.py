"""Draw hands, masks, mugs and the like in front of a face.

There are few labelled pictures of covered faces, so covers are drawn over bare ones. Their shapes
and colours are chosen by eye.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
from numpy.typing import NDArray

from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image
from rankotom_edge.geometry import Point

Array = NDArray[np.float64]
Random = np.random.Generator

SIDE = 192  # a small picture is enlarged to this many pixels before a cover is drawn on it


@dataclass(frozen=True, eq=False)
class Canvas:
    """A picture to draw on in the coordinates of a face.

    The origin is the mouth, the unit the distance from the eyes to the mouth.
    """

    picture: Image
    mouth: Array
    across: Array
    down: Array
    skin: Array

    @classmethod
    def on(cls, picture: Image, face: Face) -> "Canvas":
        eyes = (np.array(face.left_eye) + np.array(face.right_eye)) / 2
        down = np.array(face.mouth) - eyes
        x, y = (round(value) for value in face.nose)
        reach = max(2, round(0.12 * math.hypot(*down)))
        nose = picture[max(0, y - reach) : y + 2, max(0, x - reach) : x + reach]
        skin = np.median(nose.reshape(-1, 3), axis=0) if nose.size else np.full(3, 128.0)
        return cls(picture, np.array(face.mouth), np.array([down[1], -down[0]]), down, skin)

    def fill(self, outline: Sequence[Point], colour: Array) -> None:
        """A polygon, placed to 1/256 of a pixel, so that it is right on small faces too."""
        points = [self.mouth + x * self.across + y * self.down for x, y in outline]
        corners = np.round(256 * np.array(points)).astype(np.int32)
        shade = tuple(np.clip(colour, 0, 255).tolist())
        cv2.fillPoly(self.picture, [corners], shade, cv2.LINE_AA, 8)

    def oval(self, centre: Point, radii: Point, colour: Array, tilt: float = 0.0) -> None:
        outline = []
        for angle in np.linspace(0, 2 * math.pi, 40):
            x, y = radii[0] * math.cos(angle), radii[1] * math.sin(angle)
            right = centre[0] + x * math.cos(tilt) - y * math.sin(tilt)
            down = centre[1] + x * math.sin(tilt) + y * math.cos(tilt)
            outline.append((right, down))
        self.fill(outline, colour)


Cover = Callable[[Canvas, Random], None]


def hand(canvas: Canvas, random: Random, colour: Array | None = None) -> None:
    """Fingers pointing up with shadows between them, and a palm below."""
    skin = canvas.skin * random.uniform(0.8, 1.1) if colour is None else colour
    tilt, shadow = random.uniform(-0.25, 0.25), random.uniform(0.45, 1.0)
    canvas.oval((0, 0.5), (0.57, 0.38), skin * 0.9)
    _fingers_up(canvas, skin, random.uniform(-0.1, 0.1), 4, tilt, shadow)


def hands(canvas: Canvas, random: Random) -> None:
    """Two hands side by side, as in fright."""
    skin = canvas.skin * random.uniform(0.8, 1.1)
    tilt, shadow = random.uniform(-0.1, 0.45), random.uniform(0.45, 0.9)
    down = random.uniform(-0.1, 0.2)
    for side in (-1, 1):
        canvas.oval((0.45 * side, down + 0.6), (0.5, 0.5), skin * 0.9)
        _fingers_up(canvas, skin, 0.4 * side, 4, -side * tilt, shadow, down)


def _fingers_up(
    canvas: Canvas,
    skin: Array,
    middle: float,
    count: int,
    tilt: float,
    shadow: float,
    down: float = 0.0,
) -> None:
    for finger in range(count):
        place = (middle + 0.24 * (finger - (count - 1) / 2), down - 0.06 * (finger % 2))
        canvas.oval(place, (0.15, 0.5), skin * shadow, tilt)
        canvas.oval(place, (0.11, 0.48), skin * (1.0 - 0.04 * finger), tilt)


def fingers(canvas: Canvas, random: Random, colour: Array | None = None) -> None:
    """Fingers from one side across the mouth, with shadows between them."""
    skin = canvas.skin * random.uniform(0.75, 1.1) if colour is None else colour
    side, tilt = random.choice([-1, 1]), random.uniform(-0.5, 0.5)
    shadow, width = random.uniform(0.45, 0.95), random.uniform(0.16, 0.24)
    canvas.oval((0.9 * side, 0.1), (0.6, 0.5), skin * 0.92)
    for finger in range(4):
        place = (0.25 * side, width * (finger - 1.5))
        canvas.oval(place, (0.75, 0.62 * width), skin * shadow, tilt)
        canvas.oval(place, (0.74, 0.47 * width), skin * (1 - 0.04 * finger), tilt)


def glove(canvas: Canvas, random: Random) -> None:
    colour = random.choice([25, 60, 200]) + random.uniform(0, 25, 3)
    cover = hand if random.random() < 0.5 else fingers
    cover(canvas, random, colour)


def fist(canvas: Canvas, random: Random) -> None:
    skin = canvas.skin * random.uniform(0.75, 1.1)
    canvas.oval((0, 0.3), (0.55, 0.55), skin * 0.85)
    for knuckle in range(4):
        canvas.oval((0.26 * (knuckle - 1.5), -0.05), (0.16, 0.24), skin * (1 - 0.05 * knuckle))
    canvas.oval((0.1, 0.25), (0.45, 0.13), skin * 0.95, tilt=0.3)


def palm(canvas: Canvas, random: Random) -> None:
    """Plain skin, slightly uneven, lit from a random side."""
    bare = canvas.picture.astype(np.float32)
    canvas.oval((0, 0.15), (0.6, 0.55), canvas.skin * random.uniform(0.85, 1.05))
    where = replace(canvas, picture=np.zeros_like(canvas.picture))
    where.oval((0, 0.15), (0.6, 0.55), np.full(3, 255.0))
    height, width = canvas.picture.shape[:2]
    unit = math.hypot(*canvas.down)
    rows, columns = np.mgrid[0:height, 0:width]
    to_right, to_bottom = 0.12 * random.normal(0, 1, 2) / unit
    light = to_right * (columns - canvas.mouth[0]) + to_bottom * (rows - canvas.mouth[1])
    grain = cv2.GaussianBlur(random.normal(0, 1, (height, width)), (0, 0), max(0.6, 0.05 * unit))
    lit = canvas.picture * (1 + light + 0.04 * grain / np.std(grain))[..., None]
    share = where.picture / np.float32(255)
    canvas.picture[:] = np.clip(bare * (1 - share) + lit * share, 0, 255).astype(np.uint8)


def mask(canvas: Canvas, random: Random) -> None:
    colours = [[220, 200, 150], [235, 235, 235], [40, 40, 40], [200, 180, 120]]
    colour = np.array(random.choice(colours), np.float64)
    upper = [(-0.85, -0.35), (0, -0.55), (0.85, -0.35)]
    canvas.fill([*upper, (0.75, 0.35), (0.35, 0.62), (-0.35, 0.62), (-0.75, 0.35)], colour)
    for fold in (-0.2, 0.0, 0.2):
        _stripe(canvas, 0.75, fold, fold + 0.03, colour * 0.88)


def scarf(canvas: Canvas, random: Random) -> None:
    one, other = random.uniform(20, 220, (2, 3))
    canvas.fill([(-1.3, -0.3), (0, -0.42), (1.3, -0.3), (1.3, 1.2), (-1.3, 1.2)], one)
    for stripe in range(5):
        down = -0.15 + 0.28 * stripe
        _stripe(canvas, 1.3, down, down + 0.11, other)


def mug(canvas: Canvas, random: Random) -> None:
    colour = random.uniform(30, 240, 3)
    canvas.fill([(-0.5, -0.3), (0.5, -0.3), (0.45, 0.75), (-0.45, 0.75)], colour)
    canvas.oval((0, -0.3), (0.5, 0.12), colour * 0.8)
    canvas.oval((0, 0.75), (0.45, 0.12), colour * 0.9)
    _holding_fingers(canvas, 0.45, 3)


def phone(canvas: Canvas, random: Random) -> None:
    colour = np.full(3, float(random.choice([20, 45, 210])))
    middle, reach = random.uniform(-0.1, 0.1), random.uniform(0.36, 0.5)
    left, right = middle - reach, middle + reach
    canvas.fill([(left, -0.35), (right, -0.35), (right, 1.0), (left, 1.0)], colour)
    _holding_fingers(canvas, right, 4)


def microphone(canvas: Canvas, random: Random) -> None:
    colour = np.full(3, float(random.choice([25, 60, 120])))
    right = random.uniform(-0.15, 0.15)
    stick = [(right - 0.12, 0.2), (right + 0.12, 0.2), (right + 0.1, 1.4), (right - 0.1, 1.4)]
    canvas.fill(stick, colour * 0.6)
    canvas.oval((right, 0.1), (0.33, 0.36), colour)
    canvas.oval((right - 0.08, 0.0), (0.12, 0.14), colour * 1.5 + 15)


def hand_on_eye(canvas: Canvas, random: Random) -> None:
    """Leaves the mouth free."""
    side = random.choice([-0.5, 0.5])
    eye = canvas.mouth - canvas.down + side * canvas.across
    hand(replace(canvas, mouth=eye), random)


def dark_glasses(canvas: Canvas, random: Random) -> None:
    colour = np.full(3, random.uniform(5, 70))
    radii = (random.uniform(0.3, 0.46), random.uniform(0.2, 0.36))
    _stripe(canvas, 0.3, -1.12, -1.02, colour)
    for side in (-0.48, 0.48):
        canvas.oval((side, -0.97), radii, colour)


def fringe(canvas: Canvas, random: Random) -> None:
    """Hair over one eye or both."""
    colour = np.full(3, random.uniform(10, 200))
    left, right = random.uniform(-1.9, -0.7, 2)
    canvas.fill([(-1.5, -2.5), (1.5, -2.5), (1.5, right + 0.2), (0, -1.3), (-1.5, left)], colour)
    canvas.fill([(-1.5, -2.5), (0.2, -2.5), (-0.2, left), (-1.5, left + 0.5)], colour * 0.8)


def oval_anywhere(canvas: Canvas, random: Random) -> None:
    colour = canvas.skin * random.uniform(0.3, 1.5)
    centre = (random.uniform(-0.9, 0.9), random.uniform(-1.6, 0.6))
    radii = (random.uniform(0.2, 0.7), random.uniform(0.2, 0.6))
    canvas.oval(centre, radii, colour, random.uniform(0, math.pi))


def _stripe(canvas: Canvas, reach: float, top: float, bottom: float, colour: Array) -> None:
    canvas.fill([(-reach, top), (reach, top), (reach, bottom), (-reach, bottom)], colour)


def _holding_fingers(canvas: Canvas, right: float, count: int) -> None:
    for finger in range(count):
        shade = canvas.skin * (0.95 - 0.05 * finger)
        canvas.oval((right, 0.05 + 0.2 * finger), (0.25, 0.1), shade)


COVERS: dict[str, Cover] = {
    "hand": hand,
    "hands": hands,
    "fingers": fingers,
    "fist": fist,
    "palm": palm,
    "glove": glove,
    "mask": mask,
    "scarf": scarf,
    "mug": mug,
    "phone": phone,
    "microphone": microphone,
    "hand on an eye": hand_on_eye,
}
TRAINING_COVERS = (*COVERS.values(), dark_glasses, fringe, oval_anywhere, oval_anywhere)


def draw_cover(picture: Image, face: Face, cover: Cover, random: Random) -> Image:
    """A copy of the picture with the cover drawn on it."""
    drawn = picture.copy()
    cover(Canvas.on(drawn, face), random)
    return drawn


def draw_cover_on_crop(picture: Image, framing: Array, cover: Cover, random: Random) -> Image:
    """The same for a small picture that the face fills: enlarged, drawn on, shrunk again."""
    side = len(picture)
    large = np.asarray(cv2.resize(picture, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC), np.uint8)
    # FERPlus's faces lie a few hundredths of the picture away from where the contract puts them.
    face = face_at(framing * SIDE + random.normal(0, 0.02 * SIDE, 2), SIDE)
    drawn = cv2.GaussianBlur(draw_cover(large, face, cover, random), (0, 0), 1.5)
    return np.asarray(cv2.resize(drawn, (side, side), interpolation=cv2.INTER_AREA), np.uint8)


def face_at(points: Array, side: int) -> Face:
    """The face that fills a picture of ``side`` pixels, with these eyes and mouth."""
    left, right, mouth = ((float(x), float(y)) for x, y in points.tolist())
    nose = ((left[0] + right[0]) / 2, (left[1] + mouth[1]) / 2)
    return Face((0.0, 0.0, side, side), left, right, nose, mouth, score=0.9)
