"""Notices drift on the device, without labels: whether confidence is still as it was measured.

The confidences of the newest faces are compared with those of the faces that the model was measured
on, by the tests of ``population_shift``.

**A face is a track, not a frame.** Within a track confidence varies little; most of the variance
lies between tracks, so a second frame of a track adds almost nothing. A track therefore counts
once, as it was last read, and is read every ``READ_EVERY`` seconds of the source's time.

**One person is not a crowd.** A person who comes and goes makes several tracks that look alike. No
count of tracks can tell that from drift, so numbers alone raise no alarm. An alarm needs a cause
that is measured in the pictures (``quality``), in most of the faces since it began and still now,
and confidence that has shifted. An unusual mix of expressions is mentioned but raises no alarm.

**Rate of false alarms.** One test in ``TEST_EVERY`` readings at the level ``SIGNIFICANCE`` gives at
most one false alarm in 100,000 readings, even where every picture is poor but confidence is as
measured; where the pictures are clear there is none.

**What it cannot see.** Poor pictures may be read wrongly with the confidence of good ones:
``python -m train.experiments.damage`` prints accuracy and confidence for each damage.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, NamedTuple

import numpy as np

from calib.metrics import BINS
from rankotom_edge.faces.quality import POOR
from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.model.own_calibration import Usual
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.readings.population_shift import (
    LARGE_SHIFT,
    Counts,
    has_shifted,
    stability_index,
)
from rankotom_edge.readings.reading import Reading

# Chosen by eye. The shifts in the comments are D of ``population_shift.p_value``.
READ_EVERY = 10.0  # seconds between two readings of a track, longer than its noise lasts
WINDOW = 300  # faces; a shift of 0.14 is then significant
MIN_FACES = 60  # a shift of 0.30 is then significant
TEST_EVERY = 5  # readings
RECENT = 30  # readings, of which most must still show the cause: five minutes of one person

# Parts of ``Quality``. An earlier one may explain a later one: dark pictures have little contrast,
# and small faces are blurred.
CAUSES = {
    "light": "light is low",
    "size": "faces are small",
    "glare": "light is too bright",
    "sharpness": "pictures are blurred",
    "contrast": "contrast is low",
    "pose": "faces are turned away",
    "inside": "faces are cut off",
    "whole": "faces are partly hidden",
}
OTHER_EXPRESSIONS = "other expressions than usual"


@dataclass(frozen=True)
class DriftStatus:
    """The state of the model on this device, as every view shows it."""

    kind: Literal["learning", "steady", "drifted"]
    index: float | None  # population stability index of confidence; None while learning
    faces: int  # not frames: in the window, or since the drift began
    words: str
    cause: str | None
    since: datetime | None

    def as_json(self) -> dict[str, object]:
        return vars(self) | {
            "index": None if self.index is None else round(self.index, 4),
            "since": None if self.since is None else self.since.isoformat(timespec="seconds"),
        }


class Sample(NamedTuple):
    """A track as it was last read."""

    time: float  # of the source
    bin: int  # of its confidence
    label: int
    poor: frozenset[str]  # parts of its quality


@dataclass(frozen=True, eq=False)
class Reference:
    """Counts of the faces that the model was measured on."""

    upper_edges: tuple[float, ...]  # of the bins of confidence
    confidences: Counts
    labels: Counts

    @classmethod
    def of(cls, model: MeasuredModel) -> Reference:
        """The counts are empty if the model file has no such tables."""
        bins = model.evaluation.reliability
        predicted = {emotion.name: emotion.predicted for emotion in model.evaluation.per_class}
        return cls(
            upper_edges=tuple(bin_.high for bin_ in bins),
            confidences=np.array([bin_.count for bin_ in bins], np.int64),
            labels=np.array([predicted.get(name, 0) for name in model.labels], np.int64),
        )

    @classmethod
    def of_source(cls, usual: Usual) -> Reference:
        return cls(
            upper_edges=tuple((number + 1) / BINS for number in range(BINS)),
            confidences=np.array(usual.confidences, np.int64),
            labels=np.array(usual.labels, np.int64),
        )

    @property
    def has_counts(self) -> bool:
        return bool(self.confidences.any() and self.labels.any())

    def sample(self, reading: Reading, time: float) -> Sample:
        """From the raw probabilities: the model was measured on faces without smoothing."""
        label = int(reading.raw.argmax())
        bin_ = bisect_right(self.upper_edges, float(reading.raw[label]))
        poor = frozenset(part for part in CAUSES if getattr(reading.quality, part) < POOR)
        return Sample(time, min(bin_, len(self.upper_edges) - 1), label, poor)

    def count_confidences(self, samples: Sequence[Sample]) -> Counts:
        return np.bincount([one.bin for one in samples], minlength=len(self.confidences))

    def count_labels(self, samples: Sequence[Sample]) -> Counts:
        return np.bincount([one.label for one in samples], minlength=len(self.labels))


class Onset(NamedTuple):
    part: str  # of the quality: a key of CAUSES
    start: int  # the index of the sample that it began with


class DriftMonitor:
    """A sink that takes the readings of every frame, with a bounded memory."""

    def __init__(
        self,
        model: MeasuredModel,
        clock: Callable[[], datetime] = lambda: datetime.now().astimezone(),
        usual: Usual | None = None,
        on_drift: Callable[[DriftStatus], None] = lambda status: None,
    ) -> None:
        """``usual``: of the source itself, where the user calibrated on it. ``on_drift`` is called
        once for each drift, when it is noticed."""
        self._reference = Reference.of(model) if usual is None else Reference.of_source(usual)
        self._clock, self._on_drift = clock, on_drift
        self._skips_unreadable = usual is not None  # as the faces to label did
        self._samples: OrderedDict[int, Sample] = OrderedDict()  # by track, the newest last
        self._recent: deque[frozenset[str]] = deque(maxlen=RECENT)
        self._readings = 0
        self._part: str | None = None  # the cause of the present drift
        self._began = 0.0  # the present drift, in the source's time
        self._drift = self._steady_status(())

    @property
    def drift(self) -> DriftStatus:
        return self._drift

    def write(self, latest: FrameReadings) -> None:
        now = latest.frame.time
        for reading in latest.readings:
            known = self._samples.get(reading.track)
            if known is None or not 0 <= now - known.time < READ_EVERY:
                self._add(reading, now)

    def _add(self, reading: Reading, now: float) -> None:
        if not self._reference.has_counts:
            return
        if self._skips_unreadable and reading.unreadable is not None:
            return
        sample = self._reference.sample(reading, now)
        self._samples[reading.track] = sample
        self._samples.move_to_end(reading.track)
        self._recent.append(sample.poor)
        self._readings += 1
        if len(self._samples) > WINDOW:
            self._samples.popitem(last=False)
        if self._part is not None:
            self._drift = self._check_cause(self._part)
        elif self._readings % TEST_EVERY == 0:
            self._drift = self._test()
        else:
            self._drift = self._steady_status(tuple(self._samples.values()))

    def _test(self) -> DriftStatus:
        samples = tuple(self._samples.values())
        onset = find_onset([one.poor for one in samples])
        if onset is not None and is_in_most(onset.part, self._recent):
            since = samples[onset.start :]
            confidences = self._reference.count_confidences(since)
            if len(since) >= MIN_FACES and has_shifted(confidences, self._reference.confidences):
                self._part, self._began = onset.part, since[0].time
                drifted = self._drifted_status(since, CAUSES[onset.part])
                self._on_drift(drifted)
                return drifted
        return self._steady_status(samples)

    def _check_cause(self, part: str) -> DriftStatus:
        """A drift lasts until its cause is gone; the test is not repeated."""
        if is_in_most(part, self._recent):
            since = [one for one in self._samples.values() if one.time >= self._began]
            return self._drifted_status(since, CAUSES[part])
        for track, sample in list(self._samples.items()):
            if part in sample.poor:
                del self._samples[track]
        self._part = None
        return self._steady_status(tuple(self._samples.values()))

    def _drifted_status(self, samples: Sequence[Sample], cause: str) -> DriftStatus:
        """``since`` is counted back from the clock now: a board without a battery gets the right
        time only some time after it has started."""
        now = self._clock()
        since = now - timedelta(seconds=samples[-1].time - self._began)
        words = f"confidence has drifted: {cause} since {time_text(since, now)}"
        return DriftStatus("drifted", self._index(samples), len(samples), words, cause, since)

    def _steady_status(self, samples: Sequence[Sample]) -> DriftStatus:
        count, reference = len(samples), self._reference
        if not reference.has_counts:
            words = "the model's file does not say what is usual"
            return DriftStatus("learning", None, 0, words, None, None)
        if count < MIN_FACES:
            words = f"watching whether confidence stays as measured: {count} of {MIN_FACES} faces"
            return DriftStatus("learning", None, count, words, None, None)
        steady = DriftStatus("steady", self._index(samples), count, "as measured", None, None)
        if not has_shifted(reference.count_confidences(samples), reference.confidences):
            return steady
        onset = find_onset([one.poor for one in samples])
        if onset is not None and is_in_most(onset.part, self._recent):
            cause = CAUSES[onset.part]
            return replace(steady, words=f"not quite as measured: {cause}", cause=cause)
        if stability_index(reference.count_labels(samples), reference.labels) < LARGE_SHIFT:
            return replace(steady, words="not quite as measured, with no cause in sight")
        words = f"as clear as measured: {OTHER_EXPRESSIONS}"
        return replace(steady, words=words, cause=OTHER_EXPRESSIONS)

    def _index(self, samples: Sequence[Sample]) -> float:
        reference = self._reference
        return stability_index(reference.count_confidences(samples), reference.confidences)


def find_onset(poor: Sequence[Collection[str]]) -> Onset | None:
    """The most frequent cause among the newest faces and where it began: where the poor faces from
    there on outnumber the others by most. None if no cause is in most of the newest faces."""
    best, most = None, 0.0
    for part in CAUSES:
        votes = np.array([0.5 if part in one else -0.5 for one in poor])
        ahead = np.cumsum(votes[::-1])[::-1]
        if ahead.size and ahead.max() > most:
            best, most = Onset(part, int(ahead.argmax())), float(ahead.max())
    return best


def is_in_most(part: str, poor: Iterable[Collection[str]]) -> bool:
    shown = [part in one for one in poor]
    return 2 * sum(shown) > len(shown)


def time_text(time: datetime, now: datetime) -> str:
    return f"{time:%H:%M}" if time.date() == now.date() else f"{time:%Y-%m-%d %H:%M}"
