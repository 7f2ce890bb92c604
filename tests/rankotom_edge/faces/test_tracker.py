"""Faces keep their number: while they move, cross, leave and return; what is no face gets none."""

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import cv2
import numpy as np
import pytest

from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.second_pass import CLOSE_UP_SIZE
from rankotom_edge.faces.track import Track
from rankotom_edge.faces.tracker import TrackedFace, Tracker, needs_check, needs_search
from rankotom_edge.frame import Frame, Image

SHARED = Path(os.environ.get("RANKOTOM_SHARED", Path(__file__).parents[4] / "shared"))
CLIPS = SHARED / "data" / "clips"
needs_clips = pytest.mark.skipif(not CLIPS.is_dir(), reason=f"no clips in {CLIPS}")

FPS = 30.0
Updates = list[tuple[TrackedFace, ...]]


@dataclass
class CountingDetector:
    detector: FaceDetector
    calls: int = 0

    def __call__(self, image: Image) -> tuple[Face, ...]:
        self.calls += 1
        return self.detector.detect(image)


@pytest.fixture
def detect(detector: FaceDetector) -> CountingDetector:
    return CountingDetector(detector)


@dataclass(frozen=True, eq=False)
class Person:
    """A head and shoulders, cut out, with the face 96 wide around ``face``."""

    picture: Image
    mask: Image
    face: tuple[float, float]

    def on(self, scene: Image, x: float, y: float, width: float = 96.0) -> Image:
        scale = width / 96
        matrix = np.array(
            [[scale, 0, x - scale * self.face[0]], [0, scale, y - scale * self.face[1]]]
        )
        size = scene.shape[1::-1]
        drawn = np.asarray(cv2.warpAffine(self.picture, matrix, size), np.uint8)
        shown = cv2.warpAffine(self.mask, matrix, size)[..., np.newaxis] > 127
        return np.where(shown, drawn, scene)


@pytest.fixture(scope="module")
def eileen() -> Person:
    path = resources.files("rankotom_edge.sources") / "eileen-collins.jpg"
    picture = cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_COLOR)
    mask = np.zeros(picture.shape[:2], np.uint8)
    cv2.ellipse(mask, (225, 121), (70, 82), 0, 0, 360, 255, -1)
    cv2.rectangle(mask, (140, 203), (305, 320), 255, -1)
    return Person(np.asarray(picture, np.uint8), mask, (224.7, 130.6))


@pytest.fixture(scope="module")
def twin(eileen: Person) -> Person:
    """Her mirror image, with other hair and another suit around the same face."""
    flipped = np.ascontiguousarray(eileen.picture[:, ::-1])
    width = flipped.shape[1]
    hue = cv2.cvtColor(flipped, cv2.COLOR_BGR2HSV)
    hue[..., 0] = (hue[..., 0].astype(int) + 60) % 180
    skin = np.zeros(flipped.shape[:2], np.uint8)
    cv2.ellipse(skin, (round(width - 224.7), 131), (48, 60), 0, 0, 360, 255, -1)
    recoloured = cv2.cvtColor(hue, cv2.COLOR_HSV2BGR)
    picture = np.where(skin[..., np.newaxis] > 0, flipped, recoloured)
    mask = np.ascontiguousarray(eileen.mask[:, ::-1])
    return Person(np.asarray(picture, np.uint8), mask, (width - 224.7, 130.6))


def room(seed: int = 1, size: tuple[int, int] = (640, 480)) -> Image:
    cells = np.random.default_rng(seed).integers(60, 200, (6, 8, 3), dtype=np.uint8)
    return np.asarray(cv2.resize(cells, size, interpolation=cv2.INTER_CUBIC), np.uint8)


def played(
    detect: Callable[[Image], tuple[Face, ...]], images: Iterable[Image], fps: float = FPS
) -> Updates:
    tracker = Tracker(detect)
    return [
        tracker.update(Frame(image, index, index / fps, 0.0)) for index, image in enumerate(images)
    ]


def numbers(updates: Updates) -> set[int]:
    return {tracked.track for update in updates for tracked in update}


def number_at(update: tuple[TrackedFace, ...], x: float) -> int | None:
    return next((one.track for one in update if abs(one.face.centre[0] - x) < 40), None)


def read_clip(name: str) -> tuple[list[Image], float]:
    video = cv2.VideoCapture(str(CLIPS / name))
    images = []
    while True:
        read, image = video.read()
        if not read:
            break
        images.append(np.asarray(image, np.uint8))
    fps = video.get(cv2.CAP_PROP_FPS)
    video.release()
    return images, fps


def track(number: int | None = 1, x: float = 100.0, placed: bool = True) -> Track:
    face = Face((x, 100, 50, 50), (x + 15, 115), (x + 35, 115), (x + 25, 127), (x + 25, 136), 0.9)
    appearance = np.zeros((1, 1, 3), np.float32)
    return Track(number, face, appearance, 0.7, 0.0, 0.0, placed, found=face, since=0.0)


def test_the_whole_picture_is_searched_seldom_while_all_is_settled() -> None:
    settled = (track(),)
    assert not needs_search(0.4, 0.0, settled, moved=False)
    assert needs_search(0.5, 0.0, settled, moved=False)
    assert needs_search(0.1, 0.0, settled, moved=True)
    assert needs_search(0.1, 0.0, (track(placed=False),), moved=False)
    assert needs_search(0.07, 0.0, (), moved=False)
    assert not needs_search(0.03, 0.0, (), moved=True)


def test_a_face_is_checked_again_when_it_is_due_or_new_or_touched() -> None:
    known = track()
    assert not needs_check(known, 0.1, (known,))
    assert needs_check(known, 0.16, (known,))
    assert needs_check(track(number=None), 0.01, ())
    assert needs_check(known, 0.03, (known, track(number=2, x=140)))
    assert not needs_check(known, 0.03, (known, track(number=2, x=300)))


def test_a_face_that_moves_keeps_its_number_and_costs_few_detections(
    detect: CountingDetector, eileen: Person
) -> None:
    places = [(320 + 90 * math.sin(i / 9), 220 + 40 * math.cos(i / 7)) for i in range(75)]
    updates = played(detect, (eileen.on(room(), x, y) for x, y in places))
    first = next(index for index, update in enumerate(updates) if update)
    assert first / FPS <= 0.3
    assert all([one.track for one in update] == [1] for update in updates[first:])
    for (x, y), update in list(zip(places, updates, strict=True))[first:]:
        assert update[0].face.centre == pytest.approx((x, y), abs=8)
    assert detect.calls < 0.6 * len(updates)
    assert {one.detected for update in updates for one in update} == {True, False}


@pytest.mark.parametrize("frames", [1, 6])
def test_who_stays_is_the_same_when_the_white_balance_changes(
    detect: CountingDetector, eileen: Person, frames: int
) -> None:
    warmer, scene = np.array([0.65, 1, 1.35]), room()

    def lit(index: int) -> Image:
        share = min(1.0, max(0.0, (index - 40) / frames))
        picture = eileen.on(scene, 320 + 6 * math.sin(index / 7), 240, 180)
        return np.clip(picture * (1 + share * (warmer - 1)), 0, 255).astype(np.uint8)

    updates = played(detect, map(lit, range(75)))
    assert [{face.track for face in faces} for faces in updates[20:]] == [{1}] * 55


def test_nobody_is_nobody(detect: CountingDetector) -> None:
    wall = room()
    updates = played(detect, [wall] * 20)
    assert numbers(updates) == set()
    assert detect.calls <= 11


@pytest.mark.parametrize("steps", [36, 72])
def test_two_people_who_cross_keep_their_numbers(
    detect: CountingDetector, eileen: Person, twin: Person, steps: int
) -> None:
    ways = [(100 + 440 * t, 540 - 440 * t) for t in np.linspace(0, 1, steps)]
    updates = played(detect, (eileen.on(twin.on(room(), b, 205, 88), a, 215) for a, b in ways))
    early, late = steps // 4, steps - 2
    before = [number_at(updates[early], x) for x in ways[early]]
    after = [number_at(updates[late], x) for x in ways[late]]
    assert None not in before
    assert before == after


@pytest.mark.parametrize(("away", "same"), [(9, True), (54, False)])
def test_who_leaves_and_returns_within_a_second_keeps_the_number(
    detect: CountingDetector, eileen: Person, away: int, same: bool
) -> None:
    out = list(np.linspace(140, -110, 14))
    way = [140.0] * 8 + out + [-110.0] * away + out[::-1] + [140.0] * 8
    updates = played(detect, (eileen.on(room(), x, 230) for x in way))
    assert not updates[8 + len(out) + away // 2]
    assert updates[7]
    assert updates[-1]
    assert (updates[7][0].track == updates[-1][0].track) == same


def test_after_a_cut_there_are_other_people(
    detect: CountingDetector, eileen: Person, twin: Person
) -> None:
    one, other = eileen.on(room(3), 320, 230), twin.on(room(2), 325, 228)
    updates = played(detect, [one] * 8 + [other] * 8)
    assert [found.track for found in updates[7]] == [1]
    assert updates[8] == ()
    assert [found.track for found in updates[-1]] == [2]


def test_who_comes_where_another_has_just_left_is_someone_else(
    detect: CountingDetector, eileen: Person, twin: Person
) -> None:
    one, nobody, other = eileen.on(room(), 320, 230), room(), twin.on(room(), 320, 230)
    updates = played(detect, [one] * 12 + [nobody] * 12 + [other] * 24)
    assert numbers(updates[:12]) == {1}
    assert numbers(updates[24:]) == {2}


def test_who_left_and_comes_back_is_the_same(detect: CountingDetector, eileen: Person) -> None:
    one, nobody = eileen.on(room(), 320, 230), room()
    updates = played(detect, [one] * 12 + [nobody] * 12 + [one] * 12)
    assert numbers(updates) == {1}


def test_faces_too_far_for_one_detector_are_found_by_the_other(
    detect: CountingDetector, eileen: Person, twin: Person
) -> None:
    scene = room(size=(1280, 720))
    for person, x in ((eileen, 250), (twin, 640), (eileen, 1000)):
        scene = person.on(scene, x, 330, width=85)
    still = [Frame(scene.copy(), index, index / FPS, 0.0) for index in range(30)]
    with FaceDetector("full") as far:
        tracker = Tracker(detect, far=far.detect)
        found = [tracker.update(frame) for frame in still]
    assert sorted(round(one.face.centre[0], -1) for one in found[-1]) == [250, 640, 1000]
    alone = Tracker(detect)
    assert len([alone.update(frame) for frame in still][-1]) < 3  # or it would prove nothing


def test_a_far_face_beside_near_ones_is_found_within_a_second(
    detector: FaceDetector, eileen: Person, twin: Person
) -> None:
    scene = room(size=(1280, 720))
    scene = eileen.on(twin.on(twin.on(scene, 1090, 250, 86), 700, 360, 180), 280, 400, 320)
    with FaceDetector("full") as far:
        tracker = Tracker(detector.detect, far=far.detect)
        frames = [Frame(scene.copy(), index, index / FPS, 0.0) for index in range(36)]
        found = [tracker.update(frame) for frame in frames]
    assert sorted(round(one.face.centre[0] / 20) * 20 for one in found[-1]) == [280, 700, 1100]


def test_the_detector_for_far_faces_is_asked_for_each_half_once_a_second(eileen: Person) -> None:
    picture, asked = eileen.on(room(), 320, 230), []

    def far(image: Image) -> tuple[Face, ...]:
        asked.append(image.shape)
        return ()

    tracker = Tracker(lambda image: (), far=far)
    for index in range(round(3 * FPS)):
        tracker.update(Frame(picture, index, index / FPS, 0.0))
    assert asked == [(480, 384, 3)] * 6


@pytest.mark.parametrize("seconds", [0.7, 2.0])
def test_a_picture_that_comes_once_in_a_while_is_judged_by_one_detection(
    detect: CountingDetector, eileen: Person, seconds: float
) -> None:
    """A time-lapse, a slide show, a camera that sends a picture every two seconds."""
    slides = [eileen.on(room(seed), 250 + 20 * seed, 230) for seed in range(6)]
    updates = played(detect, slides, fps=1 / seconds)
    assert [len(update) for update in updates] == [0, 0, 1, 1, 1, 1]
    nobody = played(detect, [room(seed) for seed in range(6)], fps=1 / seconds)
    assert numbers(nobody) == set()


def test_a_pause_of_seconds_is_a_new_beginning(detect: CountingDetector, eileen: Person) -> None:
    image = eileen.on(room(), 320, 230)
    tracker = Tracker(detect)
    times = [*np.arange(6) / FPS, *(5 + np.arange(6) / FPS)]
    updates = [tracker.update(Frame(image, i, float(t), 0.0)) for i, t in enumerate(times)]
    assert numbers(updates[:6]) == {1}
    assert numbers(updates[6:]) == {2}


def test_a_source_that_starts_again_is_a_new_beginning(
    detect: CountingDetector, eileen: Person
) -> None:
    image = eileen.on(room(), 320, 230)
    tracker = Tracker(detect)
    updates = [tracker.update(Frame(image, i, (i % 6) / FPS, 0.0)) for i in range(12)]
    assert numbers(updates[:6]) == {1}
    assert numbers(updates[6:]) == {2}


def test_a_frame_of_another_size_does_not_break_the_track(
    detect: CountingDetector, eileen: Person
) -> None:
    wide = eileen.on(room(), 320, 230)
    small = np.asarray(cv2.resize(wide, (512, 384), interpolation=cv2.INTER_AREA), np.uint8)
    updates = played(detect, [wide] * 6 + [small] * 6)
    assert numbers(updates) == {1}
    assert updates[-1][0].face.centre == pytest.approx((256, 184), abs=8)


def test_a_still_is_read_at_once_and_each_stands_for_itself(
    detect: CountingDetector, eileen: Person
) -> None:
    tracker = Tracker(detect, stills=True)
    image = eileen.on(room(), 320, 230)
    updates = [tracker.update(Frame(image, i, float(i), 0.0)) for i in range(2)]
    assert [[one.track for one in update] for update in updates] == [[1], [2]]
    assert tracker.update(Frame(room(), 2, 2.0, 0.0)) == ()


def test_a_half_covered_face_is_followed_and_says_that_it_was_not_found(
    detect: CountingDetector, eileen: Person
) -> None:
    plain = eileen.on(room(), 320, 230)
    covered = plain.copy()
    cv2.ellipse(covered, (290, 230), (40, 70), 0, 0, 360, (90, 120, 170), -1)
    updates = played(detect, [plain] * 6 + [covered] * 10 + [plain] * 4)
    assert all([one.track for one in update] == [1] for update in updates[3:])
    assert min(update[0].face.score for update in updates[6:16]) == 0
    assert updates[-1][0].face.score > 0.85


@needs_clips
@pytest.mark.parametrize(
    ("name", "people"),
    [
        ("brother.mkv", 1),
        ("yes.mkv", 1),
        ("head-pose-face-detection-male.gif", 1),
        ("head-pose-face-detection-female-and-male.gif", 2),
    ],
)
def test_people_on_video_have_one_number_each_and_a_printed_skull_has_none(
    detect: CountingDetector, name: str, people: int
) -> None:
    images, fps = read_clip(name)
    updates = played(detect, images, fps)
    assert numbers(updates) == set(range(1, people + 1))
    first = next(index for index, update in enumerate(updates) if len(update) == people)
    assert first / fps <= 0.3
    assert all(len(update) == people for update in updates[first:])
    # All heads are in the upper half; the skull and the hands are below.
    height = images[0].shape[0]
    assert max(one.face.centre[1] for update in updates for one in update) < height / 2
    assert detect.calls < 1.5 * people * len(images)


def test_many_false_faces_neither_hide_a_real_one_nor_slow_the_machine() -> None:
    """Eight posters that no second pass confirms, and one person."""

    def seen(x: float, y: float, width: float) -> Face:
        points = ((0.3, 0.3), (0.7, 0.3), (0.5, 0.5), (0.5, 0.75))
        placed = ((x + across * width, y + down * width) for across, down in points)
        return Face((x, y, width, width), *placed, score=0.9)

    asked = 0

    def detect(image: Image) -> tuple[Face, ...]:
        nonlocal asked
        asked += 1
        if image.shape[0] == CLOSE_UP_SIZE:
            return (
                (seen(72, 72, 48),)
                if image[CLOSE_UP_SIZE // 2, CLOSE_UP_SIZE // 2, 1] > 150
                else ()
            )
        return (seen(100, 100, 100), *(seen(300 + 60 * number, 20, 40) for number in range(8)))

    picture = np.zeros((480, 800, 3), np.uint8)
    picture[90:210, 90:210] = np.random.default_rng(0).integers(160, 255, (120, 120, 3))
    tracker = Tracker(detect)
    shown = [
        bool(tracker.update(Frame(picture.copy(), index, index / 30, 0.0))) for index in range(120)
    ]
    assert sum(shown) > 110
    assert asked < 120
