"""Follows a face from one frame to the next by optical flow, without a detector."""

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image
from rankotom_edge.geometry import Similarity, fit_similarity

PointArray = NDArray[np.float32]  # (n, 2)
ComplexPoints = NDArray[np.complex64]  # (n,): the same numbers as points of the complex plane

# Each face is followed in a patch of its own, subsampled so that the face is 20 to 45 pixels wide:
# a face costs the same at any size, in a picture of any size, and nothing is resized. By eye.
FACE_WIDTH = 30
PATCH_WIDTHS = 2.2  # the patch, in face widths: room for a step of half a face
SPREAD = np.linspace(-0.36, 0.36, 5, dtype=np.float32)
GRID: ComplexPoints = np.add.outer(1j * SPREAD, SPREAD).astype(np.complex64).ravel()
WINDOW = 9

# In face widths. Chosen by eye, like the other limits; tests/rankotom_edge/faces/test_motion.py
# measures the error that they leave, half a hundredth of a face width.
MAX_RETURN_ERROR = 0.02  # of a point followed to the next frame and back again
MAX_RESIDUAL = 0.025  # of a point that moves with the face
MIN_POINTS = 9  # of 25; a hand over half of the face leaves more
MAX_GROWTH = 1.25  # from one frame to the next


def follow_face(before: Image, after: Image, face: Face) -> Face | None:
    """The face of ``before`` where it is in ``after``, both grey; None if its motion is unclear."""
    rows, columns = _patch(face, after.shape)
    old = np.ascontiguousarray(before[rows, columns])
    new = np.ascontiguousarray(after[rows, columns])
    if min(old.shape) < 3 * WINDOW:
        return None
    stride, corner = rows.step, complex(columns.start, rows.start)
    unit, middle = face.box[2] / stride, (complex(*face.centre) - corner) / stride
    start = GRID * np.complex64(unit) + np.complex64(middle)
    there, found = _flow(old, new, start)
    back, found_back = _flow(new, old, there, guess=start)  # a wrong point does not come back
    kept = (found & found_back).astype(bool) & (np.abs(back - start) < MAX_RETURN_ERROR * unit)
    motion = fit_rigid_motion(start[kept], there[kept], MAX_RESIDUAL * unit)
    if motion is None:
        return None
    turn, shift = motion  # in pixels of the patch
    moved = face.transform(Similarity(turn, stride * shift + corner - turn * corner))
    return moved if _is_in_picture(moved, after) else None


def _flow(
    old: Image, new: Image, start: ComplexPoints, guess: ComplexPoints | None = None
) -> tuple[ComplexPoints, Image]:
    """Where the points have gone, and for each whether it was found (1 or 0). With a guess it needs
    no pyramid, which takes half the time."""
    flow: Any = cv2.calcOpticalFlowPyrLK  # its stub requires an array of results; None works
    there, found, _ = flow(
        old,
        new,
        _points(start),
        None if guess is None else _points(guess).copy(),
        winSize=(WINDOW, WINDOW),
        maxLevel=2 if guess is None else 0,
        criteria=(3, 10, 0.03),
        flags=0 if guess is None else cv2.OPTFLOW_USE_INITIAL_FLOW,
    )
    return _complex(there), np.asarray(found, dtype=np.uint8).ravel()


def _points(points: ComplexPoints) -> PointArray:
    return points.view(np.float32).reshape(-1, 2)


def _complex(points: Any) -> ComplexPoints:
    return np.asarray(points, dtype=np.float32).reshape(-1).view(np.complex64)


def fit_rigid_motion(
    source: ComplexPoints, target: ComplexPoints, tolerance: float
) -> Similarity | None:
    """The similarity that most of the points follow; None where too few do.

    A face is not rigid: lips and eyelids move on their own, and so does a hand in front of it.
    RANSAC leaves them out, and least squares fits the rest.
    """
    if len(source) < MIN_POINTS:
        return None
    _, inliers = cv2.estimateAffinePartial2D(
        _points(source),
        _points(target),
        ransacReprojThreshold=tolerance,
        maxIters=200,
        refineIters=0,
    )
    rigid = inliers.ravel().astype(bool)
    if np.count_nonzero(rigid) < MIN_POINTS:
        return None
    motion = fit_similarity(source[rigid].tolist(), target[rigid].tolist())
    return motion if 1 / MAX_GROWTH < abs(motion.turn) < MAX_GROWTH else None


def _patch(face: Face, shape: tuple[int, ...]) -> tuple[slice, slice]:
    """The subsampled rows and columns of the picture in which to follow the face."""
    stride = max(1, round(face.box[2] / FACE_WIDTH))
    half = face.box[2] * PATCH_WIDTHS / 2
    x, y = face.centre
    rows = slice(max(0, int(y - half)), max(0, min(shape[0], int(y + half))), stride)
    columns = slice(max(0, int(x - half)), max(0, min(shape[1], int(x + half))), stride)
    return rows, columns


def _is_in_picture(face: Face, image: Image) -> bool:
    height, width = image.shape[:2]
    x, y = face.centre
    return bool(0 <= x < width and 0 <= y < height)
