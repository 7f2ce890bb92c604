import numpy as np
import pytest
from numpy.typing import ArrayLike

from calib.arrays import as_classes, as_labels, as_numbers, as_probabilities, as_votes
from calib.errors import RankotomError


def test_rows_that_miss_one_by_a_rounding_error_are_renormalised() -> None:
    rows = as_probabilities(np.array([[0.3335, 0.6669]], dtype=np.float16))
    assert rows.sum(axis=1) == pytest.approx([1], abs=1e-15)
    assert rows[0, 0] == pytest.approx(1 / 3, abs=1e-3)


def test_rows_that_sum_to_one_but_for_float_rounding_stay_as_they_are() -> None:
    row = [0.6, 0.3, 0.1]
    assert 0.6 + 0.3 + 0.1 != 1  # Python's sum compensates from 3.12 on
    assert as_probabilities([row]).tolist() == [row]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0.5, 0.4]], r"do not sum to 1 in 1 row, first in row 0 \(sum 0.9\).*logits"),
        ([[0.5, 0.5], [1.2, -0.2]], r"negative in 1 row, first in row 1 \(lowest -0.2\).*logits"),
        ([[0.5, np.nan]], "NaN or infinity in 1 value, first in row 0"),
        ([[np.inf, 0], [np.nan, 1]], "NaN or infinity in 2 values"),
        ([0.5, 0.5], r"have shape \(2,\); expected \(n, k\)"),
        (np.zeros((0, 8)), r"are empty \(shape \(0, 8\)\)"),
        (np.zeros((3, 0)), r"are empty \(shape \(3, 0\)\)"),
        ([["0.5", "0.5"]], "must be numbers, but their type is <U3"),
        ([[0.5 + 1j, 0.5]], "must be numbers, but their type is complex128"),
    ],
)
def test_rows_that_are_no_probabilities_are_refused(rows: ArrayLike, message: str) -> None:
    with pytest.raises(RankotomError, match=message):
        as_probabilities(rows)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], r"There are 3 predictions, but the labels have shape \(2,\)"),
        ([[0], [1], [2]], r"labels have shape \(3, 1\)"),
        ([0, 4, 1], r"must lie in 0 to 3.*row 1 holds 4 \(1 row in all\)"),
        ([0, -1, 9], r"row 1 holds -1 \(2 rows in all\)"),
        ([0, 1.5, 1], "must be class indices, but row 1 holds 1.5"),
        ([0, np.nan, 1], "labels hold NaN"),
    ],
)
def test_labels_that_fit_no_column_are_refused(labels: ArrayLike, message: str) -> None:
    with pytest.raises(RankotomError, match=message):
        as_labels(labels, samples=3, classes=4)


def test_labels_saved_as_floats_are_taken_as_indices() -> None:
    labels = as_labels(np.array([2.0, 0.0]), samples=2, classes=3)
    assert labels.tolist() == [2, 0]
    assert labels.dtype == np.int64


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        ([[1, 2]], r"votes have shape \(1, 2\), but the predictions \(2, 2\)"),
        ([[1, 2], [3, -1]], "votes are negative in row 1"),
    ],
)
def test_votes_that_do_not_fit_are_refused(votes: ArrayLike, message: str) -> None:
    with pytest.raises(RankotomError, match=message):
        as_votes(votes, samples=2, classes=2)


def test_class_names_must_be_as_many_as_columns_and_differ() -> None:
    with pytest.raises(RankotomError, match=r"2 class names \(yes, no\) for 3 columns"):
        as_classes(["yes", "no"], 3)
    with pytest.raises(RankotomError, match="class names repeat: yes, yes"):
        as_classes(["yes", "yes"], 2)


def test_checked_numbers_are_a_copy() -> None:
    original = np.array([0.5])
    as_numbers(original, "confidences", dimensions=1)[0] = 0
    assert original[0] == 0.5
