"""How often the model was right at a given confidence: the reliability curve of its evaluation.

The highest bar of a face and its other bars have separate curves: a bar of 40 % that is the highest
was selected for being the highest, and any other bar of 40 % was not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from calib.errors import RankotomError
from calib.evaluation import Evaluation
from calib.metrics import Bin

# Accuracy over fewer faces than this is mostly chance: its standard error at 50 % is 7 points.
MIN_FACES = 50
# A curve through fewer faces than this has two or three knots, so it tells nothing of a single bar.
# A calibration on own faces often has as few. Chosen by eye.
FEWEST_FACES = 250


class Reliability:
    """The reliability of every bar, looked up once per tenth of a percent: the views ask for it in
    every frame."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self._cache: dict[tuple[bool, int], float | None] = {}

    def at(self, share: float, highest: bool = True) -> float | None:
        """How often a bar of this height named the right label; None where there are no data for
        such a bar, or too few. ``highest``: the bar is the highest of its face."""
        bins = self.evaluation.reliability if highest else self.evaluation.other_bars
        if not has_enough(bins):
            return None
        per_mille = round(1000 * share)
        if (highest, per_mille) not in self._cache:
            self._cache[highest, per_mille] = reliability_at(bins, per_mille / 1000)
        return self._cache[highest, per_mille]


def has_enough(bins: Sequence[Bin]) -> bool:
    return sum(bin_.count for bin_ in bins) >= FEWEST_FACES


class Knot(NamedTuple):
    confidence: float
    accuracy: float  # the share of the faces at this confidence that were read correctly


def reliability_at(bins: Sequence[Bin], confidence: float) -> float | None:
    """The accuracy of the faces read at this confidence; None below the lowest measured one."""
    curve = reliability_curve(bins)
    if confidence < curve[0].confidence:
        return None
    capped = min(confidence, 1.0)  # a softmax in single precision can return 1.0000001
    before, after = knots_around(curve, lambda knot: knot.confidence >= capped)
    return interpolate(capped, before.confidence, after.confidence, before.accuracy, after.accuracy)


def reliability_curve(bins: Sequence[Bin]) -> list[Knot]:
    """Accuracy by confidence, linear between the knots, from the lowest confidence with faces up
    to 1. It never falls."""
    groups = _merge_small(bins)
    if not groups:
        raise RankotomError(
            "The model file holds no reliability table, so no confidence can be compared with an "
            "error budget. Export it again with: rankotom-edge export"
        )
    accuracies = _isotonic(groups)
    lowest = next(bin_.low for bin_ in bins if bin_.count)
    knots = [Knot(group.confidence, right) for group, right in zip(groups, accuracies, strict=True)]
    return [Knot(lowest, accuracies[0]), *knots, Knot(1.0, accuracies[-1])]


def knots_around(curve: list[Knot], reached: Callable[[Knot], bool]) -> tuple[Knot, Knot]:
    """The first knot for which ``reached`` is true, and the one before it."""
    index = next(index for index, knot in enumerate(curve) if reached(knot))
    return curve[max(0, index - 1)], curve[index]


def interpolate(at: float, low: float, high: float, at_low: float, at_high: float) -> float:
    return at_high if high == low else at_low + (at - low) / (high - low) * (at_high - at_low)


class _Group(NamedTuple):
    """The faces of neighbouring bins, and their means."""

    faces: int
    confidence: float
    accuracy: float

    def merge(self, other: _Group) -> _Group:
        faces = self.faces + other.faces
        share = other.faces / faces
        return _Group(
            faces,
            self.confidence + share * (other.confidence - self.confidence),
            self.accuracy + share * (other.accuracy - self.accuracy),
        )


def _merge_small(bins: Sequence[Bin]) -> list[_Group]:
    """Each bin merged with the next until there are ``MIN_FACES``; the remainder with the last."""
    groups: list[_Group] = []
    for bin_ in bins:
        if bin_.confidence is None or bin_.accuracy is None:
            continue
        group = _Group(bin_.count, bin_.confidence, bin_.accuracy)
        if groups and groups[-1].faces < MIN_FACES:
            group = groups.pop().merge(group)
        groups.append(group)
    if len(groups) > 1 and groups[-1].faces < MIN_FACES:
        last = groups.pop()
        groups[-1] = groups[-1].merge(last)
    return groups


def _isotonic(groups: list[_Group]) -> list[float]:
    """The nearest accuracies that never fall, by least squares weighted by the faces (pool adjacent
    violators)."""
    pools: list[tuple[_Group, int]] = []  # and the number of groups in it
    for group in groups:
        pool, size = group, 1
        while pools and pools[-1][0].accuracy >= pool.accuracy:
            lower, lower_size = pools.pop()
            pool, size = lower.merge(pool), lower_size + size
        pools.append((pool, size))
    return [pool.accuracy for pool, size in pools for _ in range(size)]
