"""The pairs of least total cost are found, all at once and not one after the other."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from rankotom_edge.faces.assignment import assign


def cheapest(costs: np.ndarray, max_cost: float) -> float:
    rows, columns = costs.shape
    return min(
        sum(costs[pair] for pair in zip(chosen, partners, strict=True)) + (rows - count) * max_cost
        for count in range(min(rows, columns) + 1)
        for chosen in itertools.combinations(range(rows), count)
        for partners in itertools.permutations(range(columns), count)
    )


@given(
    arrays(
        np.float64,
        array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=4),
        elements=st.one_of(st.floats(0, 3), st.just(np.inf)),
    )
)
def test_the_pairs_are_the_cheapest_of_all_ways_to_pair(costs: np.ndarray) -> None:
    pairs = assign(costs, max_cost=1.0)
    total = sum(costs[pair] for pair in pairs) + (costs.shape[0] - len(pairs))
    assert total == pytest.approx(cheapest(costs, 1.0))
    assert len({column for _, column in pairs}) == len(pairs)


def test_the_nearest_pair_does_not_leave_another_face_without_one() -> None:
    costs = np.array([[0.1, 0.3], [0.2, 9.0]])
    assert assign(costs, max_cost=1.0) == ((0, 1), (1, 0))


def test_a_pair_that_costs_too_much_is_none() -> None:
    assert assign(np.array([[1.7]]), max_cost=1.6) == ()
