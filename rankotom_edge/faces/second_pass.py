"""The second pass of the detector, on a close-up of each face: exact points and a better score.

MediaPipe's detector shrinks the whole picture to 128x128 pixels: a face 80 pixels wide in 640x480
is then 16 pixels wide, and its points scatter. Run again on a close-up, upright and at the size
that the network was made for, it costs the same and finds the points exactly
(tests/rankotom_edge/faces/test_second_pass.py measures both). What does not look like a face in the
close-up is dropped (``false_positives``).
"""

import cmath
import math
from collections.abc import Callable, Sequence

import cv2
import numpy as np

from rankotom_edge.faces.face import Face, overlap
from rankotom_edge.faces.false_positives import is_plausible
from rankotom_edge.frame import Image
from rankotom_edge.geometry import Point, Similarity

Detect = Callable[[Image], tuple[Face, ...]]

CLOSE_UP_SIZE = 192  # pixels, the input of the full-range network; the short-range one takes 128
CLOSE_UP_WIDTHS = 4.0  # the side of the close-up in face widths; chosen by eye from 2 to 5
# Around the picture. Grey finds one face more in a hundred photographs, but in a video it confuses
# people who pass behind one another (found_faces; `make crossings`).
BLACK, GREY = 0, 128
# Degrees that a head may lean without being rotated upright: cutting rows is faster than warping,
# and up to here the points are as exact (test_second_pass.py).
MAX_LEAN = 5.0
HALVES, HALF_SHARE = (0, 1), 0.6  # of the longer side, so that they overlap; chosen by eye
SAME_FACE = 0.4  # boxes that overlap by this much are one face; chosen by eye


def detect_close_up(
    detect: Detect, image: Image, face: Face, beyond: int = BLACK
) -> tuple[Face, ...]:
    """The plausible faces in and around the place where one may be."""
    close_up, way_back = cut_close_up(image, face, beyond)
    return tuple(found.transform(way_back) for found in detect(close_up) if is_plausible(found))


def detect_in_half(detect: Detect, image: Image, half: int) -> tuple[Face, ...]:
    """The faces in one of the two overlapping halves of the picture."""
    height, width = image.shape[:2]
    side = max(height, width)
    start = half * (side - round(HALF_SHARE * side))
    kept = slice(start, start + round(HALF_SHARE * side))
    part = image[:, kept] if width >= height else image[kept]
    corner = complex(start, 0) if width >= height else complex(0, start)
    found = detect(np.ascontiguousarray(part))
    return tuple(face.transform(Similarity(1 + 0j, corner)) for face in found)


def cut_close_up(image: Image, face: Face, beyond: int = BLACK) -> tuple[Image, Similarity]:
    """The face in the middle, upright; and the way back. ``beyond``: grey level around the picture.

    A face that fills the picture gets room around it too: without, the detector scores it too low
    (`python -m train.experiments.found_faces`).
    """
    scale = CLOSE_UP_SIZE / (CLOSE_UP_WIDTHS * face.box[2])
    roll = cmath.phase(complex(*face.right_eye) - complex(*face.left_eye))
    if scale <= 1 and abs(roll) <= math.radians(MAX_LEAN):
        return _cut_unrotated(image, face.centre, scale, beyond)
    turn = cmath.rect(scale, -roll)
    middle = complex(CLOSE_UP_SIZE, CLOSE_UP_SIZE) / 2
    to_close_up = Similarity(turn, middle - turn * complex(*face.centre))
    matrix = to_close_up.from_pixel_centres.matrix
    drawn = cv2.warpAffine(image, matrix, (CLOSE_UP_SIZE, CLOSE_UP_SIZE), borderValue=(beyond,) * 3)
    return np.asarray(drawn, dtype=np.uint8), to_close_up.inverse


def _cut_unrotated(
    image: Image, centre: Point, scale: float, beyond: int
) -> tuple[Image, Similarity]:
    """Cuts at whole pixels, so only for shrinking: enlarged, a whole pixel would be too coarse."""
    height, width = image.shape[:2]
    left, across, to_left, columns = _stretch(centre[0], width, scale)
    top, down, to_top, rows = _stretch(centre[1], height, scale)
    drawn = np.full((CLOSE_UP_SIZE, CLOSE_UP_SIZE, 3), beyond, np.uint8)
    if columns > 0 and rows > 0:
        drawn[to_top : to_top + rows, to_left : to_left + columns] = cv2.resize(
            image[top : top + down, left : left + across], (columns, rows)
        )
    return drawn, Similarity(
        complex(1 / scale), complex(left, top) - complex(to_left, to_top) / scale
    )


def _stretch(middle: float, length: int, scale: float) -> tuple[int, int, int, int]:
    """Along one side: start and length of the stretch in the picture, then in the close-up."""
    reach = CLOSE_UP_SIZE / 2 / scale
    begin = min(max(0, round(middle - reach)), length)
    drawn_from = max(0, round(CLOSE_UP_SIZE / 2 + (begin - middle) * scale))
    room = min((min(length, middle + reach) - begin) * scale, CLOSE_UP_SIZE - drawn_from)
    drawn = max(0, int(room))
    return begin, min(length - begin, max(1, round(drawn / scale))), drawn_from, drawn


def remove_duplicates(faces: Sequence[Face]) -> tuple[Face, ...]:
    """Each face once, as its surest detection has it."""
    kept: list[Face] = []
    for face in sorted(faces, key=lambda face: -face.score):
        if not any(overlap(face, other) > SAME_FACE for other in kept):
            kept.append(face)
    return tuple(kept)
