"""A model's predictions for faces with known labels, checked once and then trusted."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from calib.arrays import (
    SUM_TOLERANCE,
    BoolArray,
    FloatArray,
    IntArray,
    as_classes,
    as_labels,
    as_numbers,
    as_probabilities,
    as_votes,
)
from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from calib.temperature import softmax


@dataclass(frozen=True, eq=False)
class Predictions:
    """Probabilities (n, k) and the labels (n,) they are measured against.

    Rows that sum to 1 within 1e-3 are renormalised. ``votes`` (n, k) are the annotators' votes,
    as counts or shares. The arrays are read-only copies.
    """

    probabilities: FloatArray
    labels: IntArray
    classes: tuple[str, ...] = ()
    logits: FloatArray | None = None
    votes: FloatArray | None = None

    def __post_init__(self) -> None:
        probabilities = as_probabilities(self.probabilities)
        samples, columns = probabilities.shape
        arrays: dict[str, FloatArray | IntArray] = {
            "probabilities": probabilities,
            "labels": as_labels(self.labels, samples, columns),
        }
        if self.logits is not None:
            arrays["logits"] = _check_logits(self.logits, probabilities)
        if self.votes is not None:
            arrays["votes"] = as_votes(self.votes, samples, columns)
        for name, array in arrays.items():
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        names = as_classes(self.classes or default_classes(columns), columns)
        object.__setattr__(self, "classes", names)

    @classmethod
    def from_logits(
        cls,
        logits: ArrayLike,
        labels: ArrayLike,
        classes: Sequence[str] | None = None,
        votes: ArrayLike | None = None,
        temperature: float = 1.0,
    ) -> "Predictions":
        """Probabilities are softmax(logits / temperature); the logits are kept unchanged."""
        scores = as_numbers(logits, "logits", dimensions=2)
        return cls(
            probabilities=softmax(scores, temperature),
            labels=as_labels(labels, *scores.shape),
            classes=tuple(classes or ()),
            logits=scores,
            votes=None if votes is None else as_votes(votes, *scores.shape),
        )

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def confidence(self) -> FloatArray:
        confidence: FloatArray = np.minimum(self.probabilities.max(axis=1), 1.0)
        return confidence

    @cached_property
    def predicted(self) -> IntArray:
        """The class with the highest score in each row; the first of equals.

        Logits are used where known: a softmax can round two of them to a tie.
        """
        scores = self.probabilities if self.logits is None else self.logits
        winners: IntArray = scores.argmax(axis=1)
        return winners

    @cached_property
    def correct(self) -> BoolArray:
        return np.equal(self.predicted, self.labels)


def default_classes(columns: int) -> tuple[str, ...]:
    """FERPlus and AffectNet have the eight emotions, RAF-DB the first seven."""
    if columns in (len(EMOTIONS), len(EMOTIONS) - 1):
        return EMOTIONS[:columns]
    return tuple(f"class {index}" for index in range(columns))


def _check_logits(values: ArrayLike, probabilities: FloatArray) -> FloatArray:
    """Logits whose highest class is not the probabilities' come from another model."""
    logits = as_numbers(values, "logits", dimensions=2)
    if logits.shape != probabilities.shape:
        raise RankotomError(
            f"The logits have shape {logits.shape}, but the probabilities {probabilities.shape}."
        )
    highest = probabilities[np.arange(len(logits)), logits.argmax(axis=1)]
    differ = highest < probabilities.max(axis=1) - SUM_TOLERANCE
    if differ.any():
        raise RankotomError(
            f"The logits and the probabilities disagree about the highest class, first in row "
            f"{int(np.argmax(differ))}. Give both from one model, or only one of the two."
        )
    return logits
