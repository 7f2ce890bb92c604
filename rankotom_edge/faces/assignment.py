"""Pairs the rows and columns of a cost table so that the total cost is least.

scipy has ``linear_sum_assignment``, but importing it takes 0.9 s, longer than a camera takes to
open.
"""

import math

import numpy as np

from calib.arrays import FloatArray


def assign(costs: FloatArray, max_cost: float) -> tuple[tuple[int, int], ...]:
    """The pairs (row, column) of least total cost, where an unpaired row costs ``max_cost``.

    By shortest augmenting paths (Jonker and Volgenant 1987). To take the cheapest pair first would
    be simpler, and would confuse two people just where they cross.
    """
    rows, columns = costs.shape
    if costs.size <= 1:  # one known face and one detection, as in most frames
        return ((0, 0),) if costs.size and costs[0, 0] <= max_cost else ()
    unpaired = np.full((rows, rows), max_cost)
    table = np.hstack([np.minimum(costs, 2 * max_cost), unpaired])
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
