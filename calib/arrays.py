"""The checks that every array passes before it is measured."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calib.errors import RankotomError

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

# The sum of a half-precision softmax is off by up to a few 1e-4; a larger error is not a softmax.
SUM_TOLERANCE = 1e-3
# Rows this close to 1 are not divided: a division by 1 - 1e-16 could move a confidence on a bin
# edge into the next bin.
SUM_ROUNDING = 1e-6
MAX_NAME = 100  # characters of a class's name


def as_numbers(values: ArrayLike, what: str, dimensions: int) -> FloatArray:
    """A float64 copy with these dimensions, at least one element, and no NaN or infinity."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise RankotomError(
            f"The {what} must be numbers, but their type is {array.dtype}. "
            "Save them as a plain numeric array."
        )
    if array.ndim != dimensions:
        expected = "(n,)" if dimensions == 1 else "(n, k), a row per sample and a column per class"
        raise RankotomError(f"The {what} have shape {array.shape}; expected {expected}.")
    if array.size == 0:
        raise RankotomError(f"The {what} are empty (shape {array.shape}): nothing to measure.")
    numbers = array.astype(np.float64)
    invalid = ~np.isfinite(numbers)
    if invalid.any():
        row = int(np.argwhere(invalid)[0][0])
        raise RankotomError(
            f"The {what} hold NaN or infinity in {_count(invalid, 'value')}, first in row {row}. "
            "Remove those samples, or check the model that made them."
        )
    return numbers


def as_probabilities(values: ArrayLike) -> FloatArray:
    """Rows that sum to 1 within ``SUM_TOLERANCE``, renormalised."""
    probabilities = as_numbers(values, "probabilities", dimensions=2)
    negative = probabilities.min(axis=1) < 0
    if negative.any():
        row = int(np.argmax(negative))
        raise RankotomError(
            f"The probabilities are negative in {_count(negative, 'row')}, first in row {row} "
            f"(lowest {probabilities[row].min():.4g}). If these are logits, name the array logits."
        )
    sums = probabilities.sum(axis=1)
    off = np.abs(sums - 1) > SUM_TOLERANCE
    if off.any():
        row = int(np.argmax(off))
        raise RankotomError(
            f"The probabilities do not sum to 1 in {_count(off, 'row')}, first in row {row} "
            f"(sum {sums[row]:.4g}). If these are logits, name the array logits."
        )
    divisors = np.where(np.abs(sums - 1) > SUM_ROUNDING, sums, 1.0)
    renormalised: FloatArray = probabilities / divisors[:, np.newaxis]
    return renormalised


def as_labels(values: ArrayLike, samples: int, classes: int) -> IntArray:
    numbers = _per_sample(values, samples, "predictions", "labels", "a class index")
    fractional = numbers != np.floor(numbers)
    if fractional.any():
        row = int(np.argmax(fractional))
        raise RankotomError(
            f"The labels must be class indices, but row {row} holds {numbers[row]:.4g}."
        )
    outside = (numbers < 0) | (numbers >= classes)
    if outside.any():
        row = int(np.argmax(outside))
        raise RankotomError(
            f"The labels must lie in 0 to {classes - 1}, one for each of the {classes} columns, "
            f"but row {row} holds {numbers[row]:.15g} ({_count(outside, 'row')} in all)."
        )
    return numbers.astype(np.int64)


def as_votes(values: ArrayLike, samples: int, classes: int) -> FloatArray:
    votes = as_numbers(values, "votes", dimensions=2)
    if votes.shape != (samples, classes):
        raise RankotomError(
            f"The votes have shape {votes.shape}, but the predictions ({samples}, {classes}): "
            "they need a row per sample and a column per class."
        )
    if (votes < 0).any():
        row = int(np.argmax((votes < 0).any(axis=1)))
        raise RankotomError(
            f"The votes are negative in row {row}; they are counts or shares of annotators."
        )
    return votes


def as_confidence(values: ArrayLike) -> FloatArray:
    confidence = as_numbers(values, "confidences", dimensions=1)
    outside = (confidence < -SUM_TOLERANCE) | (confidence > 1 + SUM_TOLERANCE)
    if outside.any():
        row = int(np.argmax(outside))
        raise RankotomError(
            f"The confidences must lie in 0 to 1, but row {row} holds {confidence[row]:.4g}."
        )
    clipped: FloatArray = np.clip(confidence, 0, 1)
    return clipped


def as_correct(values: ArrayLike, samples: int) -> FloatArray:
    """1 where a prediction was right, 0 where it was wrong, as floats to average."""
    correct = _per_sample(values, samples, "confidences", "outcomes", "right or wrong")
    if not np.isin(correct, (0, 1)).all():
        raise RankotomError("The outcomes must be right or wrong: booleans, or 0 and 1.")
    return correct


def _per_sample(values: ArrayLike, samples: int, items: str, name: str, each: str) -> FloatArray:
    array = np.asarray(values)
    if array.shape != (samples,):
        raise RankotomError(
            f"There are {samples} {items}, but the {name} have shape {array.shape}; "
            f"expected ({samples},), {each} for each."
        )
    return as_numbers(array, name, dimensions=1)


def as_classes(names: Sequence[str], classes: int) -> tuple[str, ...]:
    words = tuple(str(name) for name in names)
    unfit = next((word for word in words if len(word) > MAX_NAME or not word.isprintable()), None)
    if unfit is not None:
        raise RankotomError(
            f"The class name {unfit[:MAX_NAME]!r} is not one of up to {MAX_NAME} printable "
            "characters."
        )
    if len(words) != classes:
        raise RankotomError(
            f"There are {len(words)} class names ({', '.join(words)[:200]}) for {classes} columns."
        )
    if len(set(words)) != len(words):
        raise RankotomError(f"The class names repeat: {', '.join(words)}. Name each class once.")
    return words


def _count(mask: BoolArray, noun: str) -> str:
    found = int(np.count_nonzero(mask))
    return f"{found:,} {noun}" if found == 1 else f"{found:,} {noun}s"
