"""What a person looks like around the face: the colours of hair, skin, collar and clothes."""

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image

Appearance = NDArray[np.float32]  # (rows, columns, 3)

# The region to compare, from the centre of the box, in face widths. Hair and clothes tell two
# people apart, and change less with a smile or a turn of the head than the face does. Chosen by
# eye, as are the cells.
ASIDE, ABOVE, BELOW = 0.75, 0.8, 2.0
CELLS = (6, 11)  # columns, rows
CELL_SAMPLES = 4  # pixels that a cell is averaged from, each way

# The share of the cells that count, most similar first: an arm or a passer-by hides the others.
# Chosen by eye.
COMPARED = 0.7
# Above this difference it is more likely another person. Chosen by eye; `make crossings` counts
# the confusions.
OTHER_PERSON = 0.12


def measure_appearance(image: Image, face: Face) -> Appearance:
    """The colours of a person, relative to their median brightness; NaN beyond the picture."""
    columns, rows = CELLS[0] * CELL_SAMPLES, CELLS[1] * CELL_SAMPLES
    x, y = face.centre
    width = face.box[2]
    across, down = columns / (2 * ASIDE * width), rows / ((ABOVE + BELOW) * width)
    left, top = x - ASIDE * width, y - ABOVE * width
    drawn = cv2.warpAffine(
        image,
        np.array([[across, 0, -across * left], [0, down, -down * top]]),
        (columns, rows),
        flags=cv2.INTER_LINEAR,
        borderMode=cv2.BORDER_REPLICATE,
    )
    colours = cv2.resize(drawn, CELLS, interpolation=cv2.INTER_AREA).astype(np.float32)
    inside = (
        _cells_inside(CELLS[1], top, CELL_SAMPLES / down, image.shape[0]),
        _cells_inside(CELLS[0], left, CELL_SAMPLES / across, image.shape[1]),
    )
    in_order = np.sort(colours[inside], axis=None)
    median = float(in_order[in_order.size // 2]) if in_order.size else 1.0  # faster than np.median
    seen = np.full_like(colours, np.nan)
    seen[inside] = colours[inside] / max(1.0, median)
    return seen


def _cells_inside(cells: int, start: float, length: float, end: int) -> slice:
    """The cells along one side whose centre is in the picture."""
    first = max(0, math.ceil(-start / length - 0.5))
    last = min(cells, math.floor((end - start) / length + 0.5))
    return slice(first, max(first, last))


def update_appearance(known: Appearance, seen: Appearance, weight: float) -> Appearance:
    """``known`` moved towards ``seen`` by ``weight``, in the cells where both are known."""
    both = known + weight * (seen - known)
    return np.where(np.isnan(known), seen, np.where(np.isnan(seen), known, both))


def appearance_difference(one: Appearance, other: Appearance) -> float:
    """How differently two people look, in the cells where both are seen; 0 is the same."""
    cells = np.sort(np.abs(one - other).mean(axis=2), axis=None)  # NaN comes last
    counted = int(COMPARED * (cells.size - np.count_nonzero(np.isnan(cells))))
    return float(cells[:counted].mean()) if counted else OTHER_PERSON


def are_neighbours(one: Face, other: Face) -> bool:
    """Whether each face is in the other's region, and so changes its appearance."""
    return math.dist(one.centre, other.centre) < ASIDE * (one.box[2] + other.box[2])
