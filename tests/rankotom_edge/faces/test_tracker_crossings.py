"""Two people of LFW cross, hide behind each other, leave and return, and keep their numbers.

make crossings      more of them, and how many were confused
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import cv2
import numpy as np
import pytest

from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.faces.tracker import TrackedFace, Tracker
from rankotom_edge.frame import Frame, Image
from train.data.datasets import data_folder

LFW = data_folder(None) / "lfw-deepfunneled"
pytestmark = pytest.mark.skipif(not LFW.is_dir(), reason=f"LFW is not in {data_folder(None)}")

SCENES = int(os.environ.get("RANKOTOM_SCENES", "4"))  # of each kind
FPS = 30.0
WIDTH, HEIGHT = 640, 480
SETTLE = 25  # frames in which everybody stays, at the end


@dataclass(frozen=True, eq=False)
class Person:
    """A head and shoulders, cut out of a photograph."""

    photograph: Image
    mask: Image
    face: tuple[float, float]
    width: float

    def on(self, scene: Image, spot: Spot) -> Image:
        scale = spot.width / self.width
        matrix = np.array(
            [
                [scale, 0, spot.x - scale * self.face[0]],
                [0, scale, spot.y - scale * self.face[1]],
            ]
        )
        size = (WIDTH, HEIGHT)
        drawn = cv2.warpAffine(self.photograph, matrix, size, borderMode=cv2.BORDER_REPLICATE)
        shown = (cv2.warpAffine(self.mask, matrix, size) > 127).astype(np.uint8)
        picture = scene.copy()
        cv2.copyTo(drawn, shown, picture)
        return picture


@dataclass(frozen=True)
class Spot:
    x: float
    y: float
    width: float


# Each person's spot in each frame; the first person is in front of the second.
Way = Iterator[tuple[Spot, ...]]


def crossing(random: np.random.Generator) -> Way:
    steps = int(random.uniform(36, 100))
    front, back = random.uniform(75, 135, 2)
    high, low = random.uniform(180, 260, 2)
    for t in [*np.linspace(0, 1, steps), *[1.0] * SETTLE]:
        bob = 4 * math.sin(20 * t)
        yield Spot(90 + 460 * t, high + bob, front), Spot(550 - 460 * t, low - bob, back)


def behind(random: np.random.Generator) -> Way:
    """The second walks behind the first, stays for a while, and goes on or turns back."""
    front, back = random.uniform(90, 135), random.uniform(70, 110)
    high, low = random.uniform(190, 250, 2)
    there, stays = np.linspace(120, 330, 30), int(random.uniform(5, 18))
    away = np.linspace(330, 540, 30) if random.random() < 0.5 else there[::-1]
    path = [*[120.0] * 12, *there, *[330.0] * stays, *away, *[away[-1]] * SETTLE]
    for index, x in enumerate(path):
        yield Spot(330 + 5 * math.sin(index / 6), high, front), Spot(x, low, back)


def passer_by(random: np.random.Generator) -> Way:
    """The first walks by, near to the camera, before the second, who sits."""
    front, back = random.uniform(130, 200), random.uniform(70, 110)
    high, steps = random.uniform(180, 240), int(random.uniform(30, 70))
    path = [*[-150.0] * 20, *np.linspace(-150, 790, steps), *[790.0] * SETTLE]
    for index, x in enumerate(path):
        yield Spot(x, high, front), Spot(320 + 4 * math.sin(index / 7), 230, back)


def leaving(random: np.random.Generator) -> Way:
    """Out of the picture and back within about a second."""
    width, y = random.uniform(80, 140), random.uniform(180, 260)
    out = np.linspace(180, -110, int(random.uniform(10, 30)))
    away = [-110.0] * int(random.uniform(3, 15))
    for x in [*[180.0] * 20, *out, *away, *out[::-1], *[180.0] * SETTLE]:
        yield (Spot(x, y, width),)


def at_the_lower_edge(random: np.random.Generator) -> Way:
    """Up to half of the face is below the picture."""
    width, below = random.uniform(90, 200), random.uniform(0.05, 0.5)
    for index in range(100):
        y = HEIGHT + (below - 0.5) * width + 0.08 * width * math.sin(index / 9)
        yield (Spot(320 + 25 * math.sin(index / 17), y, width),)


KINDS = (crossing, behind, passer_by, leaving, at_the_lower_edge)


@pytest.fixture(scope="module")
def near() -> Iterator[FaceDetector]:
    with FaceDetector() as detector:
        yield detector


@pytest.fixture(scope="module")
def far() -> Iterator[FaceDetector]:
    with FaceDetector("full") as detector:
        yield detector


@pytest.fixture(scope="module")
def people(near: FaceDetector) -> list[Person]:
    found: list[Person] = []
    folders = sorted(LFW.iterdir())
    for index in np.random.default_rng(3).permutation(len(folders)):
        photograph = np.asarray(cv2.imread(str(min(folders[index].glob("*.jpg")))), np.uint8)
        faces = near.detect(photograph)
        if len(faces) != 1 or faces[0].score < 0.85 or not 70 < faces[0].box[2] < 110:
            continue
        (x, y), width = faces[0].centre, faces[0].box[2]
        mask = np.zeros(photograph.shape[:2], np.uint8)
        head = (round(0.68 * width), round(0.86 * width))
        cv2.ellipse(mask, (round(x), round(y - 0.08 * width)), head, 0, 0, 360, 255, -1)
        shoulders = round(x - 1.05 * width), round(x + 1.05 * width)
        cv2.rectangle(mask, (shoulders[0], round(y + 0.72 * width)), (shoulders[1], 250), 255, -1)
        found.append(Person(photograph, mask, (x, y), width))
        if len(found) == 2 * SCENES:
            break
    return found


def filmed(
    pair: list[Person], way: Way, random: np.random.Generator
) -> Iterator[tuple[tuple[Spot, ...], Image]]:
    cells = random.integers(40, 210, (6, 8, 3), dtype=np.uint8)
    room = np.asarray(cv2.resize(cells, (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC), np.uint8)
    grain = random.normal(0, 3, (HEIGHT, WIDTH, 3)).astype(np.int16)
    for spots in way:
        picture = room
        for person, spot in reversed(list(zip(pair, spots, strict=False))):
            picture = person.on(picture, spot)
        moved = np.roll(grain, int(random.integers(WIDTH)), axis=1)
        yield spots, np.asarray(cv2.add(picture, moved, dtype=cv2.CV_8U), np.uint8)


def who(tracked: TrackedFace, spots: tuple[Spot, ...]) -> int | None:
    """Whose face it is; None where two are so near that it may be either's."""
    apart = [math.dist(tracked.face.centre, (spot.x, spot.y)) / spot.width for spot in spots]
    nearby = [person for person, distance in enumerate(apart) if distance < 0.6]
    return nearby[0] if len(nearby) == 1 else None


@pytest.mark.parametrize("kind", KINDS)
def test_everybody_keeps_one_number(
    kind: Callable[[np.random.Generator], Way],
    people: list[Person],
    near: FaceDetector,
    far: FaceDetector,
) -> None:
    confused = []
    for scene in range(SCENES):
        random = np.random.default_rng(scene)
        tracker = Tracker(near.detect, far=far.detect)
        numbers: dict[int, set[int]] = {}  # of each person
        given: set[int] = set()
        pair = people[2 * scene : 2 * scene + 2]
        for index, (spots, image) in enumerate(filmed(pair, kind(random), random)):
            for tracked in tracker.update(Frame(image, index, index / FPS, 0.0)):
                given.add(tracked.track)
                person = who(tracked, spots)
                if person is not None:
                    numbers.setdefault(person, set()).add(tracked.track)
        own = [number for each in numbers.values() for number in each]
        if (
            len(numbers) != len(spots)
            or len(own) != len(numbers)
            or len(set(own)) != len(own)
            or given != set(own)
        ):
            confused.append((scene, numbers, given))
    print(f"{kind.__name__}: {SCENES - len(confused)} of {SCENES} without confusion {confused}")
    assert len(confused) <= SCENES // 20  # one in twenty, in many; of a few, none


def test_who_comes_after_another_has_left_is_somebody_else(
    people: list[Person], near: FaceDetector, far: FaceDetector
) -> None:
    """Two sit side by side; one vanishes, and a second later a third is beside them.

    In the leaver's own seat the third would be recognized in only half of the scenes: the wall and
    the neighbour, which are part of both appearances, are the same.
    """
    confused = []
    for scene in range(SCENES):
        three = [people[(2 * scene + each) % len(people)] for each in range(3)]
        sitting, leaver, stranger = three
        left, right, seat = (Spot(x, 220, 100) for x in (200, 330, 500))
        tracker = Tracker(near.detect, far=far.detect)
        numbers: list[set[int]] = [set(), set(), set()]
        for index in range(100):
            pair = [sitting]
            spots: tuple[Spot, ...] = (left,)
            if index < 30:
                pair, spots = [sitting, leaver], (left, right)
            elif index >= 60:
                pair, spots = [sitting, stranger], (left, seat)
            ((_, image),) = filmed(pair, iter([spots]), np.random.default_rng(scene))
            shown = tracker.update(Frame(image, index, index / FPS, 0.0))
            for tracked in shown:
                person = who(tracked, spots)
                if person is not None:
                    numbers[2 if person == 1 and index >= 60 else person].add(tracked.track)
        if [len(each) for each in numbers] != [1, 1, 1] or numbers[1] & numbers[2]:
            confused.append((scene, numbers))
    print(f"a stranger: {SCENES - len(confused)} of {SCENES} told apart {confused}")
    assert len(confused) <= SCENES // 20
