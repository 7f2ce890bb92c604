"""What moved between two frames: a known face is carried along, a newcomer or a cut is noticed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image
from rankotom_edge.geometry import Similarity, least_squares

Points = NDArray[np.float32]  # (n, 2)
Places = NDArray[np.complex64]  # (n,): the same numbers, seen as places in the plane

# Every face is followed in a patch of its own, thinned out so that it is 20 to 45 pixels wide: a
# face costs the same at any size, in a picture of any size, and nothing is resized.
FACE_WIDTH = 30
PATCH_WIDTHS = 2.2  # the patch, in widths of the face: room for a step of half a face
SPREAD = np.linspace(-0.36, 0.36, 5, dtype=np.float32)
GRID: Places = np.add.outer(1j * SPREAD, SPREAD).astype(np.complex64).ravel()
WINDOW = 9

# In shares of the face's width.
LARGEST_RETURN = 0.02  # a point followed there and back again ends this near to where it began
LARGEST_RESIDUAL = 0.025  # a point that the face's motion explains
LEAST_POINTS = 9  # of 25; a hand over half of the face leaves more
LARGEST_GROWTH = 1.25  # from one frame to the next

GLANCE = (32, 24)
NOTICEABLE = 12  # levels of 255 in a cell of a glance; sensor noise moves a cell by 1 or 2
NEWCOMER = 0.015  # share of the cells: a head 60 pixels wide in 640x480 covers this much
CUT_CORRELATION = 0.5  # neighbouring frames of one scene, camera in the hand: above 0.9
CUT_CHANGE = 15.0  # levels on average; below it two blank walls would be called a cut


def follow(before: Image, after: Image, face: Face) -> Face | None:
    """The face of ``before`` where it is in ``after``, both grey; None where its motion can't be
    told."""
    rows, columns = _surroundings(face, after.shape)
    old = np.ascontiguousarray(before[rows, columns])
    new = np.ascontiguousarray(after[rows, columns])
    if min(old.shape) < 3 * WINDOW:
        return None
    stride, corner = rows.step, complex(columns.start, rows.start)
    unit, middle = face.box[2] / stride, (complex(*face.centre) - corner) / stride
    start = GRID * np.complex64(unit) + np.complex64(middle)
    there, found = _flow(old, new, start)
    back, found_back = _flow_back(new, old, there, start)
    kept = (found & found_back).astype(bool) & (np.abs(back - start) < LARGEST_RETURN * unit)
    motion = rigid_motion(start[kept], there[kept], LARGEST_RESIDUAL * unit)
    if motion is None:
        return None
    turn, shift = motion  # of the patch; now of the picture that it was cut from
    moved = face.carried(Similarity(turn, stride * shift + corner - turn * corner))
    return moved if _in_picture(moved, after) else None


def _flow(old: Image, new: Image, start: Places) -> tuple[Places, Image]:
    """Where the points have gone, and for each whether (1 or 0) it was found."""
    flow: Any = cv2.calcOpticalFlowPyrLK  # its stub asks for an array of results, and takes None
    there, found, _ = flow(
        old, new, _points(start), None, winSize=(WINDOW, WINDOW), maxLevel=2, criteria=(3, 10, 0.03)
    )
    return _places(there), found.ravel()


def _flow_back(new: Image, old: Image, there: Places, start: Places) -> tuple[Places, Image]:
    """Where the points came from, searched around where they should have: a wrong one wanders off.
    Without the pyramid, which is for the long way out, it takes half the time."""
    back, found, _ = cv2.calcOpticalFlowPyrLK(
        new,
        old,
        _points(there),
        _points(start).copy(),
        winSize=(WINDOW, WINDOW),
        maxLevel=0,
        criteria=(3, 10, 0.03),
        flags=cv2.OPTFLOW_USE_INITIAL_FLOW,
    )
    return _places(back), np.asarray(found, dtype=np.uint8).ravel()


def _points(places: Places) -> Points:
    return places.view(np.float32).reshape(-1, 2)


def _places(points: Any) -> Places:
    return np.asarray(points, dtype=np.float32).reshape(-1).view(np.complex64)


def rigid_motion(source: Places, target: Places, tolerance: float) -> Similarity | None:
    """The similarity that most of the points agree on; None where too few do.

    A face is not rigid: lips and lids go their own way, and so does a hand before it. RANSAC leaves
    them out, and least squares takes the rest.
    """
    if len(source) < LEAST_POINTS:
        return None
    _, agreed = cv2.estimateAffinePartial2D(
        _points(source),
        _points(target),
        ransacReprojThreshold=tolerance,
        maxIters=200,
        refineIters=0,
    )
    rigid = agreed.ravel().astype(bool)
    if np.count_nonzero(rigid) < LEAST_POINTS:
        return None
    motion = least_squares(source[rigid].tolist(), target[rigid].tolist())
    return motion if 1 / LARGEST_GROWTH < abs(motion.turn) < LARGEST_GROWTH else None


def glance(image: Image) -> Image:
    """The whole picture at its smallest, 32x24; of a grey one."""
    stride = max(1, min(image.shape[0] // 48, image.shape[1] // 64))
    thinned = np.ascontiguousarray(image[::stride, ::stride])
    return np.asarray(cv2.resize(thinned, GLANCE, interpolation=cv2.INTER_AREA), dtype=np.uint8)


def moved_outside(before: Image, now: Image, faces: Sequence[Face], shape: tuple[int, ...]) -> bool:
    """Whether enough changed between two glances, away from the known faces, for a newcomer."""
    changed = cv2.absdiff(before, now) > NOTICEABLE
    columns, rows = GLANCE
    across, down = columns / shape[1], rows / shape[0]
    for face in faces:
        x, y, width, height = face.box
        left, right = max(0, int((x - width / 4) * across)), int((x + 1.25 * width) * across) + 1
        top, bottom = max(0, int((y - height / 2) * down)), int((y + 1.25 * height) * down) + 1
        changed[top : max(bottom, 0), left : max(right, 0)] = False
    return bool(np.count_nonzero(changed) > NEWCOMER * changed.size)


def is_cut(before: Image, now: Image) -> bool:
    """Whether two glances, a frame apart, show different scenes."""
    if cv2.norm(before, now, cv2.NORM_L1) < CUT_CHANGE * now.size:
        return False
    return _correlation(before, now) < CUT_CORRELATION


def _correlation(one: Image, other: Image) -> float:
    first = one.ravel() - one.mean()
    second = other.ravel() - other.mean()
    spread = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / spread if spread > 0 else 0.0


def _surroundings(face: Face, shape: tuple[int, ...]) -> tuple[slice, slice]:
    """The patch to follow the face in, as rows and columns of the picture, thinned out."""
    stride = max(1, round(face.box[2] / FACE_WIDTH))
    half = face.box[2] * PATCH_WIDTHS / 2
    x, y = face.centre
    rows = slice(max(0, int(y - half)), max(0, min(shape[0], int(y + half))), stride)
    columns = slice(max(0, int(x - half)), max(0, min(shape[1], int(x + half))), stride)
    return rows, columns


def _in_picture(face: Face, image: Image) -> bool:
    """Whether most of the face is still there to be seen."""
    height, width = image.shape[:2]
    x, y = face.centre
    return bool(0 <= x < width and 0 <= y < height)
