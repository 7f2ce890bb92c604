"""A closer look at what may be a face: whether it is one, and where its eyes and mouth are.

MediaPipe's detector sees the whole picture in 128x128 pixels, so a face 80 pixels wide in 640x480
is 16 to it, and its points scatter by 7 % of the face's width. A second look, upright and at the
size that the network was made for, costs the same and tells more:

- The points, to 1 % of the width (the demo portrait moved about, 40 places). The crop follows them.
- Whether it is a face. What looks like one from afar must do so from nearby: faces (of the clips,
  LFW and the demo portrait) score 0.82 to 0.97 in a closer look. A printed skull and the hands
  before it (35 detections at 0.50 to 0.74) score 0.73 at most, and half of them are not found again
  or are no face by their points.
- Points and box come from the same network, and in faces they agree: the box is 1.9 to 2.6 times as
  wide as the mouth is far from the eyes, also in half profile; on the skull 2.1 to 11 times.

A photograph or a good drawing of a face passes, as it should. A dark or blurred face scores 0.6 to
0.75 here: it earns its track more slowly (``track.weighed``).
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence

import cv2
import numpy as np

from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image
from rankotom_edge.geometry import Point, Similarity

Detect = Callable[[Image], tuple[Face, ...]]

CLOSE_SIZE = 192  # pixels, as the full-range network takes them; the short-range one takes 128
# The close-up's side in widths of the face. Of 2, 2.5, 3, 4 and 5, the one where faces and the
# skull are furthest apart.
CLOSE_WIDTHS = 4.0
# Degrees that a head may lean and still be drawn as it is, row by row, in less time than turned
# upright. The points of one that leans further are found less exactly so.
UPRIGHT = 5.0
HALVES, HALF = (0, 1), 0.6
SAME = 0.4  # boxes that share this much (intersection over union) are of one face

# Ranges of faces: LFW's 1st and 99th percentile, widened by half for turned heads.
EYES_TO_MOUTH = (0.35, 1.6)  # distance of the eyes, as a share of the height: eyes to mouth
WIDTH_TO_MOUTH = (1.8, 2.75)  # width of the box, likewise
NOSE_DOWN = (0.1, 0.95)  # the nose between eyes (0) and mouth (1)
NOSE_ASIDE = 0.55
SLANT = 0.5  # cosine between the line of the eyes and the line down to the mouth


def is_plausible(face: Face) -> bool:
    """Whether eyes, nose and mouth lie as they can in a face, at any tilt and up to a profile."""
    left_eye, right_eye, nose, mouth = (
        complex(*point) for point in (face.left_eye, face.right_eye, face.nose, face.mouth)
    )
    eyes = (left_eye + right_eye) / 2
    down, across = mouth - eyes, right_eye - left_eye
    height, apart = abs(down), abs(across)
    if height == 0 or apart == 0:
        return False
    # Seen with the mouth straight below: real part along the line down, imaginary part across it.
    nose_down, eye_line = (nose - eyes) / down, across / down
    return (
        EYES_TO_MOUTH[0] <= apart / height <= EYES_TO_MOUTH[1]
        and WIDTH_TO_MOUTH[0] <= face.box[2] / height <= WIDTH_TO_MOUTH[1]
        and NOSE_DOWN[0] <= nose_down.real <= NOSE_DOWN[1]
        and abs(nose_down.imag) <= NOSE_ASIDE
        and abs(eye_line.real) <= SLANT * abs(eye_line)
        and eye_line.imag < 0  # not mirrored: the left eye is left of it
    )


def look_closer(detect: Detect, image: Image, face: Face) -> tuple[Face, ...]:
    """The plausible faces in and around the place where one is thought to be."""
    drawn, way_back = close_up(image, face)
    return tuple(seen.carried(way_back) for seen in detect(drawn) if is_plausible(seen))


def look_into(detect: Detect, image: Image, half: int) -> tuple[Face, ...]:
    """The faces in one of the two halves of a picture's longer side, which overlap by a third."""
    height, width = image.shape[:2]
    side = max(height, width)
    start = half * (side - round(HALF * side))
    stretch = slice(start, start + round(HALF * side))
    part = image[:, stretch] if width >= height else image[stretch]
    corner = complex(start, 0) if width >= height else complex(0, start)
    found = detect(np.ascontiguousarray(part))
    return tuple(face.carried(Similarity(1 + 0j, corner)) for face in found)


def close_up(image: Image, face: Face) -> tuple[Image, Similarity]:
    """A face in the middle, turned upright unless it nearly is, black beyond the picture; and the
    way back to the picture.

    Never smaller than the whole picture would be drawn: a large face needs no distance.
    """
    scale = max(CLOSE_SIZE / (CLOSE_WIDTHS * face.box[2]), CLOSE_SIZE / max(image.shape[:2]))
    roll = cmath.phase(complex(*face.right_eye) - complex(*face.left_eye))
    if scale <= 1 and abs(roll) <= math.radians(UPRIGHT):
        return _as_it_is(image, face.centre, scale)
    turn = cmath.rect(scale, -roll)
    middle = complex(CLOSE_SIZE, CLOSE_SIZE) / 2
    to_close = Similarity(turn, middle - turn * complex(*face.centre))
    drawn = cv2.warpAffine(image, to_close.between_pixels.matrix, (CLOSE_SIZE, CLOSE_SIZE))
    return np.asarray(drawn, dtype=np.uint8), to_close.inverse


def _as_it_is(image: Image, centre: Point, scale: float) -> tuple[Image, Similarity]:
    """The same without turning, in whole pixels of the picture and of the close-up: of a small
    face, which is enlarged, whole pixels of the picture would be too much."""
    height, width = image.shape[:2]
    left, across, to_left, columns = _stretch(centre[0], width, scale)
    top, down, to_top, rows = _stretch(centre[1], height, scale)
    drawn = np.zeros((CLOSE_SIZE, CLOSE_SIZE, 3), np.uint8)
    if columns > 0 and rows > 0:
        drawn[to_top : to_top + rows, to_left : to_left + columns] = cv2.resize(
            image[top : top + down, left : left + across], (columns, rows)
        )
    return drawn, Similarity(
        complex(1 / scale), complex(left, top) - complex(to_left, to_top) / scale
    )


def _stretch(middle: float, length: int, scale: float) -> tuple[int, int, int, int]:
    """Along one side: where the close-up begins in the picture and how many pixels it takes, and
    the same in the close-up."""
    reach = CLOSE_SIZE / 2 / scale
    begin = min(max(0, round(middle - reach)), length)
    drawn_from = max(0, round(CLOSE_SIZE / 2 + (begin - middle) * scale))
    room = min((min(length, middle + reach) - begin) * scale, CLOSE_SIZE - drawn_from)
    drawn = max(0, int(room))
    return begin, min(length - begin, max(1, round(drawn / scale))), drawn_from, drawn


def without_doubles(faces: Sequence[Face]) -> tuple[Face, ...]:
    """Each face once, as its surest look saw it."""
    kept: list[Face] = []
    for face in sorted(faces, key=lambda face: -face.score):
        if not any(overlap(face, other) > SAME for other in kept):
            kept.append(face)
    return tuple(kept)


def overlap(one: Face, other: Face) -> float:
    """Intersection over union of the boxes."""
    left, top = max(one.box[0], other.box[0]), max(one.box[1], other.box[1])
    right = min(one.box[0] + one.box[2], other.box[0] + other.box[2])
    bottom = min(one.box[1] + one.box[3], other.box[1] + other.box[3])
    shared = max(0.0, right - left) * max(0.0, bottom - top)
    areas = one.box[2] * one.box[3] + other.box[2] * other.box[3]
    return shared / (areas - shared) if shared else 0.0
