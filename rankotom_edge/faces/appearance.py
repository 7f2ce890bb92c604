"""Who is who from one moment to the next: by place and size, and by what a person looks like."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from rankotom_edge.faces.crop import FloatArray
from rankotom_edge.faces.face import Face
from rankotom_edge.frame import Image

Signature = NDArray[np.float32]  # (rows, columns, 3)

# Hair, face, collar and chest, from the box outwards, in widths of the face: it is clothes and hair
# that tell two people apart, and they change less with a smile or a turn than the face does.
ASIDE, ABOVE, BELOW = 0.75, 0.8, 2.0
CELLS = (6, 11)
FINE = 4  # pixels a cell is averaged from, each way

ALIKE = 0.7  # share of the cells that count, the most alike ones: an arm or a passer-by hides some

# People in the clips differ from themselves a second later by 0.02 to 0.08 (0.13 while one lays her
# head on her shoulder), from others by more than 0.13 in 99 of 100 pairs of LFW; the couple before
# one wall by 0.16.
OTHER_PERSON = 0.12
SPEED = 4.0  # widths a second that a person may move while out of sight
GATE = 1.6  # the dearest match: the looks of someone else, or a step of one and a half faces


def signature(image: Image, face: Face) -> Signature:
    """The colours of a person around a face, against their own middle brightness; NaN beyond the
    picture."""
    columns, rows = CELLS[0] * FINE, CELLS[1] * FINE
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
        _inside(CELLS[1], top, FINE / down, image.shape[0]),
        _inside(CELLS[0], left, FINE / across, image.shape[1]),
    )
    in_order = np.sort(colours[inside], axis=None)
    middle = float(in_order[in_order.size // 2]) if in_order.size else 1.0  # quicker than np.median
    seen = np.full_like(colours, np.nan)
    seen[inside] = colours[inside] / max(1.0, middle)
    return seen


def _inside(cells: int, start: float, length: float, end: int) -> slice:
    """The cells along one side whose middle is in the picture."""
    first = max(0, math.ceil(-start / length - 0.5))
    last = min(cells, math.floor((end - start) / length + 0.5))
    return slice(first, max(first, last))


def renewed(known: Signature, seen: Signature, share: float) -> Signature:
    """How a person is remembered after another look."""
    both = known + share * (seen - known)
    return np.where(np.isnan(known), seen, np.where(np.isnan(seen), known, both))


def near(one: Face, other: Face) -> bool:
    """Whether each is in the other's signature."""
    return math.dist(one.centre, other.centre) < ASIDE * (one.box[2] + other.box[2])


def unlikeness(one: Signature, other: Signature) -> float:
    """How differently two people look, as far as both are seen; 0 is the same."""
    cells = np.sort(np.abs(one - other).mean(axis=2), axis=None)  # NaN comes last
    counted = int(ALIKE * (cells.size - np.count_nonzero(np.isnan(cells))))
    return float(cells[:counted].mean()) if counted else OTHER_PERSON


def distance(known: Face, seen: Face, unlike: float, unseen_for: float) -> float:
    """What it costs to take ``seen`` for ``known``: the step, the growth and the other looks.

    A step counts in widths of the face while it is followed, and for less the longer it was not.
    """
    step = math.dist(known.centre, seen.centre) / (0.5 * (known.box[2] + seen.box[2]))
    growth = abs(math.log(seen.box[2] / known.box[2]))
    return step / (1 + SPEED * unseen_for) + growth + unlike / OTHER_PERSON


def associate(costs: FloatArray, gate: float = GATE) -> tuple[tuple[int, int], ...]:
    """The pairs (row, column) of least total cost, where a row without a partner costs the gate.

    The optimum, by shortest augmenting paths (Jonker and Volgenant 1987): the cheapest pair first
    would take one person for the other just where they cross. scipy has it, and takes longer to
    import than the camera to open.
    """
    rows, columns = costs.shape
    if costs.size <= 1:  # one face, seen again, as in most frames
        return ((0, 0),) if costs.size and costs[0, 0] <= gate else ()
    alone = np.full((rows, rows), gate)
    table = np.hstack([np.minimum(costs, 2 * gate), alone])
    owner = np.full(columns + rows, -1)
    row_price, column_price = np.zeros(rows), np.zeros(columns + rows)
    for row in range(rows):
        reach, came_from = np.full(columns + rows, math.inf), np.full(columns + rows, -1)
        visited = np.zeros(columns + rows, dtype=bool)
        current, column, paid = row, -1, 0.0
        while current >= 0:
            through = paid + table[current] - row_price[current] - column_price
            shorter = ~visited & (through < reach)
            reach[shorter], came_from[shorter] = through[shorter], column
            column = int(np.argmin(np.where(visited, math.inf, reach)))
            paid = float(reach[column])
            visited[column] = True
            current = int(owner[column])
        row_price[row] += paid
        passed = np.flatnonzero(visited & (owner >= 0))
        row_price[owner[passed]] += paid - reach[passed]
        column_price[passed] -= paid - reach[passed]
        while column >= 0:
            before = int(came_from[column])
            owner[column] = row if before < 0 else owner[before]
            column = before
    pairs = ((int(row), column) for column, row in enumerate(owner[:columns]) if row >= 0)
    return tuple(sorted(pairs))
