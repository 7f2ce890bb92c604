"""Two models on the same faces when nobody knows what is right: do they still say the same?

It cannot tell which of the two is better calibrated; ``calib.drift`` can, with labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from calib.arrays import BoolArray, FloatArray, IntArray, as_classes, as_probabilities
from calib.errors import RankotomError
from calib.intervals import Interval, Z, share_interval
from calib.reports.widgets import (
    FAINT,
    ORANGE,
    Report,
    heading,
    note,
    percent,
    plain_table,
    points,
    signed_span_text,
    span_text,
    title,
)

UNCHECKED = "No labels: accuracy and ECE not checked."
MOST_FLIPS = 8  # rows on screen; all are in the JSON


@dataclass(frozen=True)
class Flip:
    """So many faces went from one emotion to another."""

    before: str
    after: str
    count: int

    def as_json(self) -> dict[str, object]:
        return {"from": self.before, "to": self.after, "count": self.count}


@dataclass(frozen=True)
class NamedEmotion:
    """How many faces were called this before and after, and how many of the first lost it."""

    name: str
    before: int
    after: int
    flipped: int

    def as_json(self) -> dict[str, object]:
        return {"before": self.before, "after": self.after, "flipped": self.flipped}


@dataclass(frozen=True)
class Agreement:
    """The candidate beside the reference. Distances are total variation, 1/2 sum |p - q|: the share
    of the confidence that would have to move for the one's bars to read as the other's.

    The intervals are of independent faces. Frames of one video are alike, so that of a video they
    are too narrow.
    """

    n: int
    flips: tuple[Flip, ...]  # the commonest first
    emotions: tuple[NamedEmotion, ...]  # in the order of the classes
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


def agreement_report(agreement: Agreement, reference: str, candidate: str) -> RenderableType:
    """What was not measured first, then what was."""
    faces = "1 face" if agreement.n == 1 else f"{agreement.n:,} faces"
    parts: list[RenderableType] = [
        title(f"{reference}  →  {candidate}", f"the same {faces}"),
        Text(UNCHECKED, style=ORANGE),
        note("Where two models differ, this can't tell which is right."),
        Text(),
        _figures(agreement),
        note(
            "95 % intervals: of independent faces: frames of one video are alike, so there they "
            "are too narrow. Distance: the share of the confidence that moved to other emotions."
        ),
        heading("Emotion by emotion"),
        _emotion_table(agreement.emotions),
    ]
    if agreement.flips:
        parts += [heading("What became what"), _flip_table(agreement)]
    return Report(tuple(parts))


def _flips(was: IntArray, is_: IntArray, names: tuple[str, ...]) -> tuple[Flip, ...]:
    changed: BoolArray = was != is_
    pairs, counts = np.unique(
        np.column_stack([was[changed], is_[changed]]), axis=0, return_counts=True
    )
    return tuple(
        Flip(names[pairs[row, 0]], names[pairs[row, 1]], int(counts[row]))
        for row in np.argsort(-counts, kind="stable")
    )


def _emotions(was: IntArray, is_: IntArray, names: tuple[str, ...]) -> tuple[NamedEmotion, ...]:
    return tuple(
        NamedEmotion(
            name=name,
            before=int(np.count_nonzero(was == index)),
            after=int(np.count_nonzero(is_ == index)),
            flipped=int(np.count_nonzero((was == index) & (is_ != index))),
        )
        for index, name in enumerate(names)
    )


def _mean_interval(changes: FloatArray) -> Interval:
    """Of the mean of paired changes, by its standard error; a single face could have changed by
    anything."""
    if len(changes) < 2:
        return Interval(-1.0, 1.0)
    mean = float(changes.mean())
    reach = Z * float(changes.std(ddof=1)) / math.sqrt(len(changes))
    return Interval(max(-1.0, mean - reach), min(1.0, mean + reach))


def _figures(agreement: Agreement) -> Table:
    table = plain_table(
        ("", "left"),
        ("before", "right"),
        ("after", "right"),
        ("change", "right"),
        ("95 % interval", "right"),
    )
    table.add_row(
        "flips",
        "",
        "",
        Text(percent(agreement.flip_rate), style="bold"),
        Text(span_text(agreement.flips_interval, 1), style=FAINT),
    )
    table.add_row(
        "confidence",
        percent(agreement.reference_confidence),
        percent(agreement.candidate_confidence),
        Text(points(agreement.confidence_change), style="bold"),
        Text(signed_span_text(agreement.confidence_interval, 1), style=FAINT),
    )
    table.add_row("distance", "", "", Text(percent(agreement.distance), style="bold"), "")
    worst = Text(f"face {agreement.worst_face}", style=FAINT)
    table.add_row("at worst", "", "", percent(agreement.worst), worst)
    return table


def _emotion_table(emotions: tuple[NamedEmotion, ...]) -> Table:
    table = plain_table(
        ("", "left"), ("before", "right"), ("after", "right"), ("flipped", "right"), ("", "right")
    )
    for emotion in emotions:
        share = percent(emotion.flipped / emotion.before) if emotion.before else "–"
        table.add_row(
            Text(emotion.name),
            f"{emotion.before:,}",
            f"{emotion.after:,}",
            f"{emotion.flipped:,}",
            Text(share, style=FAINT),
        )
    return table


def _flip_table(agreement: Agreement) -> Table:
    table = plain_table(("from", "left"), ("to", "left"), ("faces", "right"))
    for flip in agreement.flips[:MOST_FLIPS]:
        table.add_row(Text(flip.before), Text(flip.after), f"{flip.count:,}")
    if len(agreement.flips) > MOST_FLIPS:
        rest = sum(flip.count for flip in agreement.flips[MOST_FLIPS:])
        table.add_row(Text("others", style=FAINT), "", Text(f"{rest:,}", style=FAINT))
    return table
