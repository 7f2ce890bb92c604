"""Finds the faces in a picture with MediaPipe's detector, offline; its model is in the wheel."""

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
from rankotom_edge.faces.mediapipe_log import hide_startup_messages
from rankotom_edge.frame import Image
from rankotom_edge.interrupts import delay_interrupts
from rankotom_edge.system_libraries import explain_import

MODELS = {"short": 0, "full": 1}  # MediaPipe's model_selection: faces within 2 m, within 5 m

# The definitions of the options of the detector's graph. MediaPipe silently drops options whose
# definition is not loaded: without the first, every face is found half a dozen times.
GRAPH_OPTIONS = (
    "util.non_max_suppression",
    "tensor.image_to_tensor",
    "tensor.inference",
    "tensor.tensors_to_detections",
    "tflite.ssd_anchors",
)


class FaceDetector(Closing):
    """``reach``: ``short`` is for webcams and three times faster, ``full`` for faces up to five
    metres away."""

    def __init__(self, reach: Literal["short", "full"] = "short", min_score: float = 0.5) -> None:
        warnings.filterwarnings("ignore", message=r"SymbolDatabase\.GetPrototype", module="google")
        try:
            with delay_interrupts():
                face_detection = _mediapipe_face_detection()
        except ImportError as error:
            raise RankotomError(
                explain_import(error)
                or f"Face detection needs MediaPipe, which does not load here ({error}). "
                "Install it with: pip install mediapipe==0.10.14"
            ) from error
        with hide_startup_messages():
            self._detection = face_detection.FaceDetection(
                model_selection=MODELS[reach], min_detection_confidence=min_score
            )
            # It starts in its own thread; after one answer it has printed all its messages.
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
    library: 1.35 s of CPU time, most of the wait at the start. With empty stand-ins for the two
    packages that import all the others, it takes 0.2 s. Afterwards the stand-ins and their
    children are removed from ``sys.modules``, so that a program that uses this package can still
    import all of MediaPipe.
    """
    found = find_spec("mediapipe")
    if found is None or found.submodule_search_locations is None:
        raise ImportError("No module named 'mediapipe'")
    if "mediapipe.python.solutions" in sys.modules:
        return import_module("mediapipe.python.solutions.face_detection")
    # It starts OpenGL where there is a screen, and Mesa would keep its shaders in ~/.cache.
    os.environ.setdefault("MESA_SHADER_CACHE_DISABLE", "true")
    (root,) = found.submodule_search_locations
    stand_ins = {"mediapipe": root, "mediapipe.python.solutions": f"{root}/python/solutions"}
    for name, folder in stand_ins.items():
        package = ModuleType(name)
        package.__path__ = [folder]
        sys.modules[name] = package
    try:
        for options in GRAPH_OPTIONS:
            import_module(f"mediapipe.calculators.{options}_calculator_pb2")
        return import_module("mediapipe.python.solutions.face_detection")
    finally:
        for name in list(sys.modules):
            if name.rpartition(".")[0] in stand_ins or name in stand_ins:
                del sys.modules[name]


def _face(detection: Any, width: int, height: int) -> Face:
    location = detection.location_data
    box = location.relative_bounding_box
    # MediaPipe names the eyes from the subject's side and gives the right eye first. We name them
    # from the viewer's side, where that is the left eye.
    left_eye, right_eye, nose, mouth = (
        (point.x * width, point.y * height) for point in location.relative_keypoints[:4]
    )
    pixels = (box.xmin * width, box.ymin * height, box.width * width, box.height * height)
    return Face(pixels, left_eye, right_eye, nose, mouth, float(detection.score[0]))
