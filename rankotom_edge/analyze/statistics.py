"""What is kept of a video for the summary: seconds by expression and episode, and drift samples.

An episode is a face that shows one expression, until it has not shown it for ``GAP``: so a flicker
does not end it. Its frames say one thing together; episodes count, not frames.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from calib.json_fields import as_mapping, number
from rankotom_edge.faces.quality import REASONS
from rankotom_edge.readings.drift_monitor import READ_EVERY, Reference, Sample
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.run_summary import LONGEST_STEP, NOT_CONFIDENT
from rankotom_edge.views.wording import UNSURE

GAP = 1.0  # seconds; chosen by eye, as for labelling
STEPS = 1.5  # where frames are sampled, a gap or a step may be this many of their distances

Sums: TypeAlias = defaultdict[str, float]


def _sums() -> Sums:
    return defaultdict(float)


@dataclass
class Statistics:
    """Of one video, or the sum over several."""

    frames: float = 0.0
    seconds: float = 0.0  # of video
    faces: float = 0.0  # tracks
    expressions: Sums = field(default_factory=_sums)  # seconds of faces; also "unsure"
    squares: Sums = field(default_factory=_sums)  # of the seconds of each episode
    episodes: Sums = field(default_factory=_sums)  # how many
    reasons: Sums = field(default_factory=_sums)  # seconds of each reason to be unsure
    # Of each face as it was last read, for drift:
    confidences: Sums = field(default_factory=_sums)  # by number of the card's bin
    labels: Sums = field(default_factory=_sums)  # by number of the label
    poor: Sums = field(default_factory=_sums)  # by part of the quality

    def as_json(self) -> dict[str, object]:
        return vars(self)

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Statistics:
        """KeyError or ValueError where it is not as it was written."""
        values: dict[str, Any] = {}
        for name in (each.name for each in fields(cls)):
            if isinstance(saved[name], Mapping):
                values[name] = {key: number(saved[name], key) for key in as_mapping(saved[name])}
            else:
                values[name] = number(saved, name)
        return total([cls(**values)])


def total(all_statistics: Iterable[Statistics]) -> Statistics:
    result = Statistics()
    for statistics in all_statistics:
        for name, value in vars(statistics).items():
            if isinstance(value, dict):
                sums = getattr(result, name)
                for key, part in value.items():
                    sums[key] += part
            else:
                setattr(result, name, getattr(result, name) + value)
    return result


class StatisticsCollector:
    """A sink for the frames of one video, ``fps`` of which are read a second."""

    def __init__(self, reference: Reference, fps: float | None) -> None:
        distance = 0.0 if fps is None else STEPS / fps
        self._longest_step, self._gap = max(LONGEST_STEP, distance), max(GAP, distance)
        self._reference = reference
        self._statistics = Statistics()
        self._time: float | None = None
        self._tracks: set[int] = set()
        self._open: dict[tuple[int, str], _Episode] = {}
        self._samples: dict[int, Sample] = {}

    def write(self, latest: FrameReadings) -> None:
        time = latest.frame.time
        step = 0.0 if self._time is None else min(max(0.0, time - self._time), self._longest_step)
        self._time = time
        self._statistics.frames += 1
        self._statistics.seconds += step
        for reading in latest.readings:
            self._tracks.add(reading.track)
            self._add_seconds(reading, time, step)
            self._add_sample(reading, time)

    def finish(self) -> Statistics:
        for (_, name), episode in self._open.items():
            self._close(name, episode)
        self._open = {}
        result = self._statistics
        result.faces = len(self._tracks)
        for sample in self._samples.values():
            result.confidences[str(sample.bin)] += 1
            result.labels[str(sample.label)] += 1
            for part in sample.poor:
                result.poor[part] += 1
        return result

    def _add_seconds(self, reading: Reading, time: float, step: float) -> None:
        if reading.verdict == "unsure":
            name = UNSURE
            known = reading.reason in REASONS.values()
            self._statistics.reasons[str(reading.reason) if known else NOT_CONFIDENT] += step
        else:
            name = reading.top if reading.blend is None else reading.blend.first
        key = reading.track, name
        episode = self._open.get(key)
        if episode is None or time - episode.last > self._gap:
            if episode is not None:
                self._close(name, episode)
            episode = self._open[key] = _Episode()
        episode.seconds += step
        episode.last = time

    def _close(self, name: str, episode: _Episode) -> None:
        self._statistics.expressions[name] += episode.seconds
        self._statistics.squares[name] += episode.seconds**2
        self._statistics.episodes[name] += 1

    def _add_sample(self, reading: Reading, time: float) -> None:
        """As the drift monitor does."""
        known = self._samples.get(reading.track)
        if self._reference.has_counts and (known is None or time - known.time >= READ_EVERY):
            self._samples[reading.track] = self._reference.sample(reading, time)


@dataclass
class _Episode:
    seconds: float = 0.0
    last: float = 0.0
