"""The summary over all videos: what was seen for how long, what was unsure, and drift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calib.intervals import Interval, time_share_interval
from rankotom_edge.analyze.read_video import Failure
from rankotom_edge.analyze.statistics import Statistics, Sums
from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.readings.drift_monitor import CAUSES, MIN_FACES, OTHER_EXPRESSIONS, Reference
from rankotom_edge.readings.population_shift import (
    LARGE_SHIFT,
    Counts,
    has_shifted,
    stability_index,
)
from rankotom_edge.views.wording import UNSURE


@dataclass(frozen=True)
class ExpressionTime:
    """How long faces showed an expression, or were unsure."""

    name: str
    seconds: float
    share: float  # of the time of all faces
    interval: Interval  # of the share, over independent episodes
    episodes: int

    def as_json(self) -> dict[str, object]:
        values = vars(self) | {"interval": [self.interval.low, self.interval.high]}
        return {name: values[name] for name in values if name != "name"}


@dataclass(frozen=True)
class ArchiveDrift:
    """Whether the faces of the archive are read with the confidence that the card measured."""

    kind: Literal["learning", "steady", "drifted"]
    index: float | None  # population stability index; None where there are too few faces
    faces: int
    cause: str | None
    words: str


@dataclass(frozen=True)
class Summary:
    videos: int
    failed: dict[str, str]  # the reason, by video
    problems: dict[str, str]  # of videos that could be read in part
    statistics: Statistics
    expressions: tuple[ExpressionTime, ...]  # the longest first, unsure last
    drift: ArchiveDrift

    @property
    def face_seconds(self) -> float:
        return sum(self.statistics.expressions.values())

    def as_json(self) -> dict[str, object]:
        statistics, seconds = self.statistics, self.face_seconds
        reasons = sorted(statistics.reasons.items(), key=lambda item: (-item[1], item[0]))
        return {
            "videos": self.videos,
            "failed": self.failed,
            "problems": self.problems,
            "frames": int(statistics.frames),
            "seconds": statistics.seconds,
            "faces": int(statistics.faces),
            "face_seconds": seconds,
            "expressions": {each.name: each.as_json() for each in self.expressions},
            "reasons": {
                reason: {"seconds": it, "share": it / seconds if seconds else 0.0}
                for reason, it in reasons
            },
            "drift": vars(self.drift),
        }


def summarise(
    found: dict[str, tuple[Statistics, str | None]],
    failures: dict[str, Failure],
    total: Statistics,
    model: MeasuredModel,
) -> Summary:
    return Summary(
        videos=len(found),
        failed={name: failure.reason for name, failure in failures.items()},
        problems={name: problem for name, (_, problem) in found.items() if problem is not None},
        statistics=total,
        expressions=_expression_times(total),
        drift=_archive_drift(total, model),
    )


def _expression_times(total: Statistics) -> tuple[ExpressionTime, ...]:
    """Episodes are independent, frames are not."""
    seconds, squares = sum(total.expressions.values()), sum(total.squares.values())
    times = [
        ExpressionTime(
            name=name,
            seconds=it,
            share=it / seconds,
            interval=time_share_interval(
                it, total.squares[name], seconds - it, squares - total.squares[name]
            ),
            episodes=int(total.episodes[name]),
        )
        for name, it in total.expressions.items()
        if it
    ]
    return tuple(sorted(times, key=lambda each: (each.name == UNSURE, -each.seconds, each.name)))


def _archive_drift(total: Statistics, model: MeasuredModel) -> ArchiveDrift:
    reference = Reference.of(model)
    if not reference.has_counts:
        words = "the model's file does not say what is usual"
        return ArchiveDrift("learning", None, 0, None, words)
    confidences = _counts(total.confidences, len(reference.confidences))
    labels = _counts(total.labels, len(reference.labels))
    faces = int(confidences.sum())
    if faces < MIN_FACES:
        words = f"too few faces to tell: {faces} of {MIN_FACES}"
        return ArchiveDrift("learning", None, faces, None, words)
    index = stability_index(confidences, reference.confidences)
    if not has_shifted(confidences, reference.confidences):
        return ArchiveDrift("steady", index, faces, None, "as measured")
    worst = max(CAUSES, key=lambda part: total.poor[part])
    if 2 * total.poor[worst] > faces:
        cause = CAUSES[worst]
        return ArchiveDrift("drifted", index, faces, cause, f"confidence has drifted: {cause}")
    if stability_index(labels, reference.labels) >= LARGE_SHIFT:
        words = f"as clear as measured: {OTHER_EXPRESSIONS}"
        return ArchiveDrift("steady", index, faces, OTHER_EXPRESSIONS, words)
    words = "not quite as measured, with no cause in sight"
    return ArchiveDrift("steady", index, faces, None, words)


def _counts(sums: Sums, length: int) -> Counts:
    return np.array([sums[str(number)] for number in range(length)], np.int64)
