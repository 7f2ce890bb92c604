"""How far two models agree on the same faces, without labels.

This cannot show which of the two is right or better calibrated; ``calib.drift`` can, with labels.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from calib.arrays import BoolArray, FloatArray, IntArray, as_classes, as_probabilities
from calib.errors import RankotomError
from calib.intervals import Interval, Z, share_interval


@dataclass(frozen=True)
class Flip:
    """``count`` faces changed from one predicted emotion to another."""

    before: str
    after: str
    count: int

    def as_json(self) -> dict[str, object]:
        return {"from": self.before, "to": self.after, "count": self.count}


@dataclass(frozen=True)
class EmotionCounts:
    """Faces predicted as this emotion before and after; ``flipped`` of the first lost it."""

    name: str
    before: int
    after: int
    flipped: int

    def as_json(self) -> dict[str, object]:
        return {"before": self.before, "after": self.after, "flipped": self.flipped}


@dataclass(frozen=True)
class Agreement:
    """The candidate compared with the reference. Distances are total variation, 1/2 sum |p - q|:
    the share of the confidence that moved to other emotions.

    The intervals assume independent faces. Frames of one video are alike, so for a video the
    intervals are too narrow.
    """

    n: int
    flips: tuple[Flip, ...]  # the most common first
    emotions: tuple[EmotionCounts, ...]  # in the order of the classes
    reference_confidence: float
    candidate_confidence: float
    confidence_interval: Interval  # of the change, paired
    distance: float
    worst: float
    worst_face: int

    @property
    def flipped(self) -> int:
        return sum(flip.count for flip in self.flips)

    @property
    def flip_rate(self) -> float:
        return self.flipped / self.n

    @property
    def flips_interval(self) -> Interval:
        return share_interval(self.flipped, self.n)

    @property
    def confidence_change(self) -> float:
        return self.candidate_confidence - self.reference_confidence

    def as_json(self) -> dict[str, object]:
        rate, change = self.flips_interval, self.confidence_interval
        return {
            "n": self.n,
            "labelled": False,
            "not_checked": ["accuracy", "ece"],
            "flips": {
                "rate": self.flip_rate,
                "interval": [rate.low, rate.high],
                "pairs": [flip.as_json() for flip in self.flips],
            },
            "confidence": {
                "reference": self.reference_confidence,
                "candidate": self.candidate_confidence,
                "change": self.confidence_change,
                "interval": [change.low, change.high],
            },
            "distance": {"mean": self.distance, "worst": self.worst, "worst_face": self.worst_face},
            "per_class": {emotion.name: emotion.as_json() for emotion in self.emotions},
        }


def measure_agreement(
    reference: ArrayLike, candidate: ArrayLike, classes: Sequence[str]
) -> Agreement:
    """Two sets of probabilities (n, k) of the same faces in the same order."""
    before, after = as_probabilities(reference), as_probabilities(candidate)
    if before.shape != after.shape:
        raise RankotomError(
            f"The two sets of probabilities are {before.shape} and {after.shape}, faces by "
            "emotions. Compare two models on the same faces, in the same order."
        )
    names = as_classes(classes, before.shape[1])
    was, is_ = before.argmax(axis=1), after.argmax(axis=1)
    distances = np.abs(before - after).sum(axis=1) / 2
    worst = int(distances.argmax())
    return Agreement(
        n=len(before),
        flips=_flips(was, is_, names),
        emotions=_emotions(was, is_, names),
        reference_confidence=float(before.max(axis=1).mean()),
        candidate_confidence=float(after.max(axis=1).mean()),
        confidence_interval=_mean_interval(after.max(axis=1) - before.max(axis=1)),
        distance=float(distances.mean()),
        worst=float(distances[worst]),
        worst_face=worst,
    )


def _flips(was: IntArray, is_: IntArray, names: tuple[str, ...]) -> tuple[Flip, ...]:
    changed: BoolArray = was != is_
    pairs, counts = np.unique(
        np.column_stack([was[changed], is_[changed]]), axis=0, return_counts=True
    )
    return tuple(
        Flip(names[pairs[row, 0]], names[pairs[row, 1]], int(counts[row]))
        for row in np.argsort(-counts, kind="stable")
    )


def _emotions(was: IntArray, is_: IntArray, names: tuple[str, ...]) -> tuple[EmotionCounts, ...]:
    return tuple(
        EmotionCounts(
            name=name,
            before=int(np.count_nonzero(was == index)),
            after=int(np.count_nonzero(is_ == index)),
            flipped=int(np.count_nonzero((was == index) & (is_ != index))),
        )
        for index, name in enumerate(names)
    )


def _mean_interval(changes: FloatArray) -> Interval:
    """The interval of the mean of paired changes, from its standard error; the whole range
    for one face."""
    if len(changes) < 2:
        return Interval(-1.0, 1.0)
    mean = float(changes.mean())
    reach = Z * float(changes.std(ddof=1)) / math.sqrt(len(changes))
    return Interval(max(-1.0, mean - reach), min(1.0, mean + reach))
