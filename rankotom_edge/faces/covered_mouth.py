"""Detects a covered mouth: a hand, a mask or a cup in front of it.

The crop's edges from the nose down are counted in cells of a grid, by direction, and a table of
weights adds them up to log odds. ``python -m train.experiments.covered_mouths --fit`` fits the
table on drawn covers; without ``--fit`` it prints how often each cover is noticed: a hand, fist,
mask, scarf, mug or phone in 95 to 100 % of the faces, a palm in 88 to 92 %, fingers across the
mouth in 77 to 81 %, a microphone in 5 %; a bare face of FERPlus is called covered in 1.7 % (some
are), of LFW in 0.2 %. Real hands are harder than drawn ones: expect half of them.
"""

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from rankotom_edge.frame import Image

DIRECTIONS = np.arange(4, dtype=np.float32)[:, np.newaxis, np.newaxis]  # in eighths of a turn
MIRRORED = [0, 3, 2, 1]  # the same four in a mirror
# Chosen by eye:
GRID, CELL = 8, 6  # cells each way, and pixels of one
UPPER = 3  # rows of cells, to below the eyes, that are left out
MIN_CONTRAST = 2.0  # grey levels: less is noise
MAX_CHANGE = 1.5  # relative to the surroundings
# By row, column and direction, in tenths; above 0 speaks for a cover. The columns are those of the
# left half; the right half is mirrored and added to it.
WEIGHTS = np.array(
    [
        [[4, -3, -2, -3], [1, -4, 2, 0], [1, -2, 12, -2], [7, -3, 0, -4]],
        [[7, 0, 1, 3], [5, -2, 5, 2], [-1, -4, 8, -5], [3, 1, 7, -2]],
        [[-3, 3, 11, -8], [-6, 2, -1, -3], [2, 4, 4, -7], [-13, -12, -4, -23]],
        [[-6, -6, -11, -4], [3, 2, 5, 1], [7, -11, 5, -20], [-6, -21, -34, -28]],
        [[6, -12, 9, -3], [-3, -3, -4, -2], [2, 7, 0, -6], [-7, 4, -10, -22]],
    ],
    np.float32,
)
WEIGHT_UNIT = 10
THRESHOLD = -99  # of the sum of the weights


def cover_log_odds(grey: Image) -> float:
    """The log odds that something covers the mouth of a crop; above 0 it is called covered."""
    total = float(np.vdot(WEIGHTS, lower_edges(grey)))
    return (total - THRESHOLD) / WEIGHT_UNIT


def lower_edges(grey: Image) -> NDArray[np.float32]:
    """The strength of the edges from the nose down, relative to their surroundings, by row, column
    (from the side to the middle) and direction; both halves of the face together."""
    side = GRID * CELL
    sized = grey if grey.shape == (side, side) else cv2.resize(grey, (side, side))
    strength, angle = cv2.cartToPolar(
        cv2.Sobel(sized, cv2.CV_32F, 1, 0, ksize=1), cv2.Sobel(sized, cv2.CV_32F, 0, 1, ksize=1)
    )
    used = slice((UPPER - 1) * CELL, None)  # with the cells above the uppermost
    apart = np.abs(angle[used] * np.float32(4 / math.pi) % 4 - DIRECTIONS)
    shares = np.maximum(0, 1 - np.minimum(apart, 4 - apart)) * strength[used]
    changes = cv2.resize(
        cv2.merge(list(shares)), (GRID, GRID - UPPER + 1), interpolation=cv2.INTER_AREA
    )
    around = cv2.blur(np.square(changes).sum(axis=2), (3, 3), borderType=cv2.BORDER_REPLICATE)
    contrast = np.sqrt(around + MIN_CONTRAST**2)[..., np.newaxis]
    lower = np.minimum(changes / contrast, MAX_CHANGE)[1:]
    left, right = lower[:, : GRID // 2], lower[:, : GRID // 2 - 1 : -1]
    return np.asarray(left + right[..., MIRRORED], np.float32)
