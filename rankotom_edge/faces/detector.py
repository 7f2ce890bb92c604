"""Where the faces are in a picture: MediaPipe's detector, offline, with its model in the wheel."""

from __future__ import annotations

import os
import sys
import warnings
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Literal

import cv2
import numpy as np

from calib.errors import RankotomError
from rankotom_edge.closing import Closing
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.mediapipe_log import without_chatter
from rankotom_edge.frame import Image
from rankotom_edge.geometry import Point
from rankotom_edge.interrupts import undisturbed

MODELS = {"short": 0, "full": 1}  # MediaPipe's model_selection: faces within 2 m, within 5 m

# MediaPipe's order of key points. It names them from the subject's side; we name them from the
# viewer's, so its right eye is our left one.
LEFT_EYE, RIGHT_EYE, NOSE, MOUTH = range(4)

# What the detector's graph is told by. MediaPipe silently drops the options whose definition is
# not loaded: without the first, every face is found half a dozen times.
GRAPH_OPTIONS = (
    "util.non_max_suppression",
    "tensor.image_to_tensor",
    "tensor.inference",
    "tensor.tensors_to_detections",
    "tflite.ssd_anchors",
)


class FaceDetector(Closing):
    """Finds every face in a picture. ``short`` range is for webcams (three times faster), ``full``
    for faces up to five metres away."""

    def __init__(self, reach: Literal["short", "full"] = "short", least_score: float = 0.5) -> None:
        warnings.filterwarnings("ignore", message=r"SymbolDatabase\.GetPrototype", module="google")
        try:
            with undisturbed():
                face_detection = _mediapipe_face_detection()
        except ImportError as error:
            raise RankotomError(
                f"Face detection needs MediaPipe, which does not load here ({error}). "
                "Install it with: pip install mediapipe==0.10.14"
            ) from error
        with without_chatter():
            self._detection = face_detection.FaceDetection(
                model_selection=MODELS[reach], min_detection_confidence=least_score
            )
            # It starts in a thread of its own; one answer later it has said all that it says.
            self.detect(np.zeros((64, 64, 3), np.uint8))

    def detect(self, image: Image) -> tuple[Face, ...]:
        """The faces of a BGR picture, the surest first."""
        if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or image.size == 0:
            raise RankotomError(
                "The face detector takes a colour picture (height, width, 3) of bytes; "
                f"this one is {image.shape} of {image.dtype}."
            )
        height, width = image.shape[:2]
        found = self._detection.process(cv2.cvtColor(image, cv2.COLOR_BGR2RGB)).detections or ()
        faces = (_face(detection, width, height) for detection in found)
        return tuple(sorted(faces, key=lambda face: -face.score))

    def close(self) -> None:
        self._detection.close()


@cache
def _mediapipe_face_detection() -> Any:
    """MediaPipe's face detection without the rest of MediaPipe.

    ``import mediapipe`` loads every solution and task, and with them matplotlib and a sound
    library: 1.35 s of CPU time, most of what a user would wait for at the start. With its two
    packages that import all the others held empty for the time being, it is 0.2 s. Afterwards the
    empty ones and their children are forgotten, so that a program of which we are a part may
    import MediaPipe whole.
    """
    found = find_spec("mediapipe")
    if found is None or found.submodule_search_locations is None:
        raise ImportError("No module named 'mediapipe'")
    if "mediapipe.python.solutions" in sys.modules:
        return import_module("mediapipe.python.solutions.face_detection")
    # It starts OpenGL where there is a screen, and Mesa would keep its shaders in ~/.cache.
    os.environ.setdefault("MESA_SHADER_CACHE_DISABLE", "true")
    (root,) = found.submodule_search_locations
    empty = {"mediapipe": root, "mediapipe.python.solutions": f"{root}/python/solutions"}
    for name, folder in empty.items():
        package = ModuleType(name)
        package.__path__ = [folder]
        sys.modules[name] = package
    try:
        for options in GRAPH_OPTIONS:
            import_module(f"mediapipe.calculators.{options}_calculator_pb2")
        return import_module("mediapipe.python.solutions.face_detection")
    finally:
        for name in list(sys.modules):
            if name.rpartition(".")[0] in empty or name in empty:
                del sys.modules[name]


def nearest(faces: tuple[Face, ...], point: Point) -> Face | None:
    """The face whose box is centred nearest to ``point``: the subject, among bystanders."""
    return min(
        faces,
        key=lambda face: np.hypot(face.centre[0] - point[0], face.centre[1] - point[1]),
        default=None,
    )


def _face(detection: Any, width: int, height: int) -> Face:
    location = detection.location_data
    box = location.relative_bounding_box
    points = [(point.x * width, point.y * height) for point in location.relative_keypoints]
    return Face(
        box=(box.xmin * width, box.ymin * height, box.width * width, box.height * height),
        left_eye=points[LEFT_EYE],
        right_eye=points[RIGHT_EYE],
        nose=points[NOSE],
        mouth=points[MOUTH],
        score=float(detection.score[0]),
    )
