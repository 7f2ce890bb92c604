"""Notices a scene cut, or a newcomer, by comparing thumbnails of the frames."""

from collections.abc import Sequence

import cv2
import numpy as np

from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image

# Chosen by eye.
THUMBNAIL = (32, 24)  # columns, rows
NOTICEABLE = 12  # levels of 255 in a cell of the thumbnail; sensor noise moves a cell by 1 or 2
NEWCOMER = 0.015  # share of the cells: a head 60 pixels wide in 640x480 covers this much
CUT_CORRELATION = 0.5  # neighbouring frames of one scene, camera in the hand, stay above 0.9
CUT_CHANGE = 15.0  # levels on average; below it, two blank walls would count as a cut


def make_thumbnail(image: Image) -> Image:
    """A grey picture in 32x24 pixels."""
    stride = max(1, min(image.shape[0] // 48, image.shape[1] // 64))
    subsampled = np.ascontiguousarray(image[::stride, ::stride])
    return np.asarray(
        cv2.resize(subsampled, THUMBNAIL, interpolation=cv2.INTER_AREA), dtype=np.uint8
    )


def has_changed_outside(
    before: Image, now: Image, faces: Sequence[Face], shape: tuple[int, ...]
) -> bool:
    """Whether enough changed between two thumbnails, away from the known faces, for a newcomer."""
    changed = cv2.absdiff(before, now) > NOTICEABLE
    columns, rows = THUMBNAIL
    across, down = columns / shape[1], rows / shape[0]
    for face in faces:
        x, y, width, height = face.box
        left, right = max(0, int((x - width / 4) * across)), int((x + 1.25 * width) * across) + 1
        top, bottom = max(0, int((y - height / 2) * down)), int((y + 1.25 * height) * down) + 1
        changed[top : max(bottom, 0), left : max(right, 0)] = False
    return bool(np.count_nonzero(changed) > NEWCOMER * changed.size)


def is_scene_cut(before: Image, now: Image) -> bool:
    """Whether the thumbnails of two successive frames show different scenes."""
    if cv2.norm(before, now, cv2.NORM_L1) < CUT_CHANGE * now.size:
        return False
    return _correlation(before, now) < CUT_CORRELATION


def _correlation(one: Image, other: Image) -> float:
    first = one.ravel() - one.mean()
    second = other.ravel() - other.mean()
    spread = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / spread if spread > 0 else 0.0
