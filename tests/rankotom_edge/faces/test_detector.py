"""Faces are found where they are, by MediaPipe alone and without its baggage."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.frame import Image

CLIP = Path(__file__).parents[4] / "shared" / "data" / "clips" / "yes.mkv"


def draw_face(picture: Image, x: int, y: int) -> None:
    """A face good enough for MediaPipe: eyes 70 apart, the mouth 85 below them."""
    cv2.ellipse(picture, (x, y - 100), (100, 80), 0, 0, 360, (30, 40, 60), -1)
    cv2.ellipse(picture, (x, y), (90, 120), 0, 0, 360, (140, 170, 220), -1)
    for eye in (x - 35, x + 35):
        cv2.ellipse(picture, (eye, y - 25), (18, 9), 0, 0, 360, (245, 245, 245), -1)
        cv2.circle(picture, (eye, y - 25), 8, (40, 30, 30), -1)
        cv2.ellipse(picture, (eye, y - 45), (22, 6), 0, 180, 360, (40, 50, 70), 5)
    cv2.line(picture, (x, y - 15), (x - 8, y + 22), (110, 140, 190), 4)
    cv2.ellipse(picture, (x, y + 24), (14, 6), 0, 0, 180, (100, 130, 180), 3)
    cv2.ellipse(picture, (x, y + 60), (34, 12), 0, 0, 360, (90, 90, 190), -1)


def picture_of_faces(*centres: tuple[int, int]) -> Image:
    picture = np.full((480, 640, 3), (200, 190, 180), dtype=np.uint8)
    for x, y in centres:
        draw_face(picture, x, y)
    return np.asarray(cv2.GaussianBlur(picture, (0, 0), 2), dtype=np.uint8)


def test_the_eyes_and_the_mouth_are_found_where_they_were_drawn(detector: FaceDetector) -> None:
    (face,) = detector.detect(picture_of_faces((300, 240)))
    assert face.left_eye == pytest.approx((265, 215), abs=12)
    assert face.right_eye == pytest.approx((335, 215), abs=12)
    assert face.mouth == pytest.approx((300, 300), abs=12)
    assert face.centre == pytest.approx((300, 260), abs=25)
    assert 0.5 <= face.score <= 1


def test_the_full_range_model_finds_it_too() -> None:
    with FaceDetector("full") as detector:
        (face,) = detector.detect(picture_of_faces((300, 240)))
    assert face.left_eye == pytest.approx((265, 215), abs=12)


def test_two_faces_are_two_faces_the_surest_first(detector: FaceDetector) -> None:
    faces = detector.detect(picture_of_faces((160, 240), (480, 240)))
    assert sorted(round(face.mouth[0] / 160) for face in faces) == [1, 3]
    assert faces[0].score >= faces[1].score


def test_an_empty_wall_has_no_face(detector: FaceDetector) -> None:
    assert detector.detect(picture_of_faces()) == ()


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((48, 48), np.uint8),
        np.zeros((48, 48, 4), np.uint8),
        np.zeros((48, 48, 3), np.float32),
        np.zeros((0, 48, 3), np.uint8),
    ],
    ids=["grey", "four channels", "floats", "empty"],
)
def test_what_is_no_colour_picture_is_refused(detector: FaceDetector, image: Image) -> None:
    with pytest.raises(RankotomError, match="colour picture"):
        detector.detect(image)


@pytest.mark.skipif(not CLIP.exists(), reason=f"the clip {CLIP} is not on this machine")
def test_a_person_on_video_is_found_in_nearly_every_frame(detector: FaceDetector) -> None:
    video = cv2.VideoCapture(str(CLIP))
    found = []
    for _ in range(30):
        read, frame = video.read()
        if not read:
            break
        found.append(bool(detector.detect(np.asarray(frame, dtype=np.uint8))))
    video.release()
    assert np.mean(found) > 0.9


def test_the_detector_loads_neither_matplotlib_nor_what_else_mediapipe_brings(
    tmp_path: Path,
) -> None:
    """Yet it finds what MediaPipe finds, and MediaPipe can still be imported whole after it."""
    program = """
import sys
import cv2
import numpy as np
from rankotom_edge.faces.detector import MODELS, FaceDetector

picture = cv2.imread(sys.argv[1])
ours = []
for reach in MODELS:
    with FaceDetector(reach) as detector:
        ours.append([(face.score, face.box[0]) for face in detector.detect(picture)])
heavy = {"matplotlib", "jax", "sounddevice", "mediapipe.tasks"} & set(sys.modules)
assert not heavy, heavy

import mediapipe
assert mediapipe.solutions.face_mesh
FaceDetection = mediapipe.solutions.face_detection.FaceDetection
theirs = []
for number in MODELS.values():
    with FaceDetection(min_detection_confidence=0.5, model_selection=number) as detection:
        found = detection.process(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB)).detections
        lefts = [each.location_data.relative_bounding_box.xmin for each in found]
        scores = [each.score[0] for each in found]
        theirs.append([(score, left * picture.shape[1]) for score, left in zip(scores, lefts)])
assert all(ours) and ours == theirs, (ours, theirs)
"""
    picture = tmp_path / "face.png"
    cv2.imwrite(str(picture), picture_of_faces((300, 240)))
    subprocess.run([sys.executable, "-c", program, str(picture)], check=True)
