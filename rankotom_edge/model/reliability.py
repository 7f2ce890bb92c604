"""What a bar is worth: how often the model was right with it, by the tables of its card.

The highest bar of a face and its other bars have tables of their own: a bar of 40 % that is the
highest was chosen for being so, and one beside it was not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from calib.blends import ROUNDING
from calib.errors import RankotomError

if TYPE_CHECKING:
    from rankotom_edge.readings.reading import Reading

Bins: TypeAlias = Sequence[Mapping[str, Any]]  # an artifact's figures["bins"] or ["other_bars"]

# Reliability of fewer faces than this is chance: its standard error at 50 % is 7 points.
ENOUGH_FACES = 50


class Reliability:
    """The figures of a model's card, by bar. Each per mille is looked up once; the views ask for
    it at every frame."""

    def __init__(self, figures: Mapping[str, Any]) -> None:
        self.figures = figures
        self._known: dict[tuple[bool, int], float | None] = {}

    def at(self, share: float, highest: bool = True) -> float | None:
        """How often a bar of this height, the highest of its face or another, named the label;
        None where the card says nothing of such a bar."""
        bins = self.figures.get("bins" if highest else "other_bars")
        if not bins:
            return None
        per_mille = round(1000 * share)
        if (highest, per_mille) not in self._known:
            self._known[highest, per_mille] = reliability_at(bins, per_mille / 1000)
        return self._known[highest, per_mille]


def mark_of(reliability: Reliability, reading: Reading, index: int) -> float | None:
    """Where the mark on a bar is. None where the crop is poor: the tables are of clear faces."""
    if reading.poor is not None:
        return None
    return reliability.at(float(reading.probabilities[index]), reading.labels[index] == reading.top)


def reliability_at(bins: Bins, confidence: float) -> float | None:
    """Of the faces read at this confidence, the share that was right; None below all measured."""
    curve = _curve(bins)
    if confidence < curve[0].confidence:
        return None
    within = min(confidence, 1.0)  # a softmax in single precision can answer 1.0000001
    before, after = _around(curve, lambda knot: knot.confidence >= within)
    return _between(within, before.confidence, after.confidence, before.right, after.right)


def confidence_needed(bins: Bins, max_error: float) -> float:
    """The lowest confidence at which a face is wrong at most ``max_error`` of the time.

    It holds for the faces at that confidence alone, not on average over surer ones, so it holds
    whatever mix of easy and hard faces is in front of the camera.
    """
    if not 0 <= max_error <= 1:
        raise RankotomError(
            f"The error budget is {100 * max_error:g} %; it must lie between 0 % and 100 %."
        )
    if max_error == 1:
        return 0.0
    curve = _curve(bins)
    asked = 1 - max_error - ROUNDING
    if curve[-1].right < asked:
        best = math.ceil(1000 * (1 - curve[-1].right)) / 10
        raise RankotomError(
            f"An error budget of {100 * max_error:g} % cannot be met: where this model is surest, "
            f"{best:g} % of the faces are still wrong. Allow at least that."
        )
    before, after = _around(curve, lambda knot: knot.right >= asked)
    return _between(asked, before.right, after.right, before.confidence, after.confidence)


class _Knot(NamedTuple):
    confidence: float
    right: float  # the share of the faces at this confidence


def _curve(bins: Bins) -> list[_Knot]:
    """Reliability by confidence, straight between the knots: from the least confidence with faces
    up to 1, and never falling."""
    filled = [bin_ for bin_ in bins if bin_["count"]]
    if not filled:
        raise RankotomError(
            "The model's file holds no reliability table, so no confidence can be held against an "
            "error budget. Export it again with: rankotom-edge export"
        )
    groups = _joined(filled)
    rights = _never_falling(groups)
    knots = [_Knot(group.confidence, right) for group, right in zip(groups, rights, strict=True)]
    return [_Knot(filled[0]["low"], rights[0]), *knots, _Knot(1.0, rights[-1])]


class _Group(NamedTuple):
    """Faces of neighbouring bins, and their means."""

    faces: int
    confidence: float
    right: float

    def with_(self, other: _Group) -> _Group:
        faces = self.faces + other.faces
        share = other.faces / faces
        return _Group(
            faces,
            self.confidence + share * (other.confidence - self.confidence),
            self.right + share * (other.right - self.right),
        )


def _joined(filled: Bins) -> list[_Group]:
    """Each bin joined with the next ones until there are ``ENOUGH_FACES``; the rest with the
    last."""
    groups: list[_Group] = []
    for bin_ in filled:
        group = _Group(bin_["count"], bin_["confidence"], bin_["accuracy"])
        if groups and groups[-1].faces < ENOUGH_FACES:
            group = groups.pop().with_(group)
        groups.append(group)
    if len(groups) > 1 and groups[-1].faces < ENOUGH_FACES:
        last = groups.pop()
        groups[-1] = groups[-1].with_(last)
    return groups


def _never_falling(groups: list[_Group]) -> list[float]:
    """The nearest rising shares, by least squares over the faces: pool adjacent violators."""
    pools: list[tuple[_Group, int]] = []  # and how many groups are in it
    for group in groups:
        pool, size = group, 1
        while pools and pools[-1][0].right >= pool.right:
            lower, lower_size = pools.pop()
            pool, size = lower.with_(pool), lower_size + size
        pools.append((pool, size))
    return [pool.right for pool, size in pools for _ in range(size)]


def _around(curve: list[_Knot], reached: Callable[[_Knot], bool]) -> tuple[_Knot, _Knot]:
    """The first knot that reached it, and the one before."""
    place = next(place for place, knot in enumerate(curve) if reached(knot))
    return curve[max(0, place - 1)], curve[place]


def _between(at: float, low: float, high: float, at_low: float, at_high: float) -> float:
    return at_high if high == low else at_low + (at - low) / (high - low) * (at_high - at_low)
