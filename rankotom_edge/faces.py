"""Where the faces are in a picture: MediaPipe's detector, offline, with its model in the wheel."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from calib.errors import RankotomError

Image = NDArray[np.uint8]
Point = tuple[float, float]

MODELS = {"short": 0, "full": 1}  # MediaPipe's model_selection: faces within 2 m, within 5 m

# MediaPipe's order of key points. It names them from the subject's side; we name them from the
# viewer's, so its right eye is our left one.
LEFT_EYE, RIGHT_EYE, NOSE, MOUTH = range(4)


@dataclass(frozen=True)
class Face:
    """One face, in pixels from the picture's corner; (0.5, 0.5) is the first pixel's centre.

    Left and right are the viewer's: the left eye of an upright face is nearer the left border.
    """

    box: tuple[float, float, float, float]  # x, y, width, height; may reach over the border
    left_eye: Point
    right_eye: Point
    nose: Point
    mouth: Point
    score: float  # the detector's, 0 to 1; not a calibrated probability

    @property
    def centre(self) -> Point:
        x, y, width, height = self.box
        return x + width / 2, y + height / 2


class FaceDetector:
    """Finds every face in a picture. ``short`` range is for webcams (three times faster), ``full``
    for faces up to five metres away."""

    def __init__(self, reach: Literal["short", "full"] = "short", least_score: float = 0.5) -> None:
        warnings.filterwarnings("ignore", message=r"SymbolDatabase\.GetPrototype", module="google")
        try:
            # Here, because it takes two seconds, and the crop needs Face alone.
            from mediapipe.python.solutions import face_detection
        except ImportError as error:
            raise RankotomError(
                f"Face detection needs MediaPipe, which does not load here ({error}). "
                "Install it with: pip install mediapipe==0.10.14"
            ) from error
        self._detection = face_detection.FaceDetection(
            model_selection=MODELS[reach], min_detection_confidence=least_score
        )

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

    def __enter__(self) -> FaceDetector:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


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
