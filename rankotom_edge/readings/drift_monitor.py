"""Drift on the device, without labels: whether confidence is still what it was measured as.

The newest faces are held against what the artifact says of those it was measured on: by the
population stability index of their confidence, and by a two-sample test (Kolmogorov and Smirnov's,
with the bound of Dvoretzky, Kiefer and Wolfowitz, which needs no large numbers).

**A face is a track, not a frame.** In the clips in ``../shared/data/clips`` (five tracks of 2 to 5
s) confidence forgets itself within half a second (autocorrelation 0.35 after 0.1 s, 0.09 after 0.2
s, -0.10 after 0.5 s), but only around the track's own mean: its standard deviation is 0.036, that
of FERPlus's faces 0.171, so that some 96 % of the variance lies between tracks and a second frame
of one says nothing new. How that goes on over minutes was not measured. A track therefore counts
once, as it was read last, and is read every ``SPACING`` seconds: by the clock, never by what is
seen.

**A person is not a crowd.** Who comes and goes is several tracks, and what remains alike in them is
the person: 0.13 of the variance for 610 people in LFW, photographed on different days. No count of
tracks can tell that from drift, so numbers alone raise no alarm. Nor could the artifact's mix of
expressions do so: FERPlus was collected by emotion, and no camera sees people as it does.
An alarm needs a cause that is measured in the pictures (``quality``), in most of the faces since it
began and still now; then it also needs confidence that has moved, by ``MATERIAL`` and by more than
chance. Other expressions than usual are mentioned, and are no alarm. One person alone in poor light
may be told of a drift that is partly their own; but the light is low.

**The rate.** The test is made at ``LEVEL`` once in ``LOOK`` readings (of a track, one in
``SPACING`` seconds), so that however long it runs there is at most one false alarm in
``LOOK / LEVEL`` = 100,000 of them, even where every picture is poor but confidence is as measured.
Where the pictures are as clear as FERPlus's there is none.

**What it cannot see.** Poor pictures may be read wrongly with the confidence of good ones. 300
faces of FERPlus valid, damaged from the first on, by an earlier embedded INT8 model (right for
82 %, 81 % sure) and before blur was measured as it is now: under a Gaussian of 1.5 pixels it is
right for 61 % and as sure as ever, which shows after 205 faces; in a fourteenth of the light right
for 70 %, 77 % sure, after 185; in a twentieth, under 2 pixels, or 14 pixels wide, after 60 to 65.
In an eighth of the light it is right for 77 % and 80 % sure: there is little to see. Each reading's
own "unsure: blurred" does not wait for that.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankotom_edge.faces.quality import POOR

if TYPE_CHECKING:
    from rankotom_edge.model.card import MeasuredModel
    from rankotom_edge.readings.frame_readings import FrameReadings
    from rankotom_edge.readings.reading import Reading

Counts: TypeAlias = NDArray[np.int64]

SPACING = 10.0  # seconds between two readings of a track; twenty times what its noise lasts
WINDOW = 300  # faces: confidences that moved by 0.14 of them are beyond chance
NEEDED = 60  # faces: beyond chance is 0.30, what a blur of 2 pixels does to FERPlus's
LOOK = 5  # readings between two tests
LEVEL = 5e-5  # of one test; with LOOK, one false alarm in 100,000 readings
# The usual reading of the index: below 0.1 nothing of note, above 0.25 another population.
MATERIAL, ANOTHER = 0.10, 0.25
# Of the reference, in each part that the index compares: with the 15 bins of the artifact, of which
# the lowest hold a handful of faces, 100 faces as measured have an index of 0.15, with these 0.07.
LEAST_SHARE = 0.05
RECENT = 30  # readings, of which most must still show the cause: five minutes of one person

# Parts of ``Quality``, in the order in which one explains the next: dark pictures have little
# contrast, and small faces are blurred.
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
    """The model's state on this device, as every view shows it."""

    kind: Literal["learning", "steady", "drifted"]
    index: float | None  # population stability index of confidence; None while learning
    faces: int  # not frames: of the window, or since the drift began
    words: str
    cause: str | None
    since: datetime | None

    def as_json(self) -> dict[str, object]:
        return {
            "kind": self.kind,
            "index": None if self.index is None else round(self.index, 4),
            "faces": self.faces,
            "words": self.words,
            "cause": self.cause,
            "since": None if self.since is None else self.since.isoformat(timespec="seconds"),
        }


class Sample(NamedTuple):
    """A face as it was read last."""

    time: float  # of the source
    bin: int  # of its confidence
    label: int
    poor: frozenset[str]  # parts of its quality


@dataclass(frozen=True, eq=False)
class Reference:
    """What the artifact says of the faces it was measured on."""

    tops: tuple[float, ...]  # upper edges of the bins
    confidences: Counts
    labels: Counts

    @classmethod
    def of(cls, model: MeasuredModel) -> Reference:
        """Empty where the model file has no such tables."""
        bins = model.evaluation.reliability
        predicted = {emotion.name: emotion.predicted for emotion in model.evaluation.per_class}
        return cls(
            tops=tuple(bin_.high for bin_ in bins),
            confidences=np.array([bin_.count for bin_ in bins], np.int64),
            labels=np.array([predicted.get(name, 0) for name in model.labels], np.int64),
        )

    @property
    def known(self) -> bool:
        return bool(self.confidences.any() and self.labels.any())

    def sample(self, reading: Reading, time: float) -> Sample:
        """Of its raw probabilities: the artifact was measured on faces that nobody smoothed."""
        label = int(reading.raw.argmax())
        at = bisect_right(self.tops, float(reading.raw[label]))
        poor = frozenset(part for part in CAUSES if getattr(reading.quality, part) < POOR)
        return Sample(time, min(at, len(self.tops) - 1), label, poor)

    def confidences_of(self, samples: Sequence[Sample]) -> Counts:
        return np.bincount([one.bin for one in samples], minlength=len(self.confidences))

    def labels_of(self, samples: Sequence[Sample]) -> Counts:
        return np.bincount([one.label for one in samples], minlength=len(self.labels))


class Onset(NamedTuple):
    part: str  # of the quality: a key of CAUSES
    start: int  # the sample that it began with


class DriftMonitor:
    """Takes every moment, and keeps so many faces that its memory does not grow."""

    def __init__(
        self,
        model: MeasuredModel,
        clock: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        self._reference = Reference.of(model)
        self._clock = clock
        self._samples: OrderedDict[int, Sample] = OrderedDict()  # by track, the newest last
        self._recent: deque[frozenset[str]] = deque(maxlen=RECENT)
        self._readings = 0
        self._part: str | None = None  # the cause of the drift that there is
        self._began = 0.0  # that drift, by the source's time
        self._drift = self._state(())

    @property
    def drift(self) -> DriftStatus:
        return self._drift

    def write(self, moment: FrameReadings) -> None:
        now = moment.frame.time
        for reading in moment.readings:
            known = self._samples.get(reading.track)
            if known is None or not 0 <= now - known.time < SPACING:
                self._take(reading, now)

    def _take(self, reading: Reading, now: float) -> None:
        if not self._reference.known:
            return
        sample = self._reference.sample(reading, now)
        self._samples[reading.track] = sample
        self._samples.move_to_end(reading.track)
        self._recent.append(sample.poor)
        self._readings += 1
        if len(self._samples) > WINDOW:
            self._samples.popitem(last=False)
        if self._part is not None:
            self._drift = self._drifted_still(self._part)
        elif self._readings % LOOK == 0:
            self._drift = self._looked()
        else:
            self._drift = self._state(tuple(self._samples.values()))

    def _looked(self) -> DriftStatus:
        samples = tuple(self._samples.values())
        found = onset([one.poor for one in samples])
        if found is not None and mostly(found.part, self._recent):
            since = samples[found.start :]
            confidences = self._reference.confidences_of(since)
            if len(since) >= NEEDED and has_moved(confidences, self._reference.confidences):
                self._part, self._began = found.part, since[0].time
                return self._drifted(since, CAUSES[found.part])
        return self._state(samples)

    def _drifted_still(self, part: str) -> DriftStatus:
        """Until the cause is gone: that it is borne out again by each test is not asked."""
        if mostly(part, self._recent):
            since = [one for one in self._samples.values() if one.time >= self._began]
            return self._drifted(since, CAUSES[part])
        for track, sample in list(self._samples.items()):
            if part in sample.poor:
                del self._samples[track]
        self._part = None
        return self._state(tuple(self._samples.values()))

    def _drifted(self, samples: Sequence[Sample], cause: str) -> DriftStatus:
        """When it began is told by the clock as it goes now: a board without a battery is set right
        some time after it has started."""
        now = self._clock()
        since = now - timedelta(seconds=samples[-1].time - self._began)
        words = f"confidence has drifted: {cause} since {moment_words(since, now)}"
        return DriftStatus("drifted", self._index(samples), len(samples), words, cause, since)

    def _state(self, samples: Sequence[Sample]) -> DriftStatus:
        """Where nothing has drifted."""
        count, reference = len(samples), self._reference
        if not reference.known:
            words = "the model's file does not say what is usual"
            return DriftStatus("learning", None, 0, words, None, None)
        if count < NEEDED:
            words = f"still learning: {count} of {NEEDED} faces"
            return DriftStatus("learning", None, count, words, None, None)
        steady = DriftStatus("steady", self._index(samples), count, "as measured", None, None)
        if not has_moved(reference.confidences_of(samples), reference.confidences):
            return steady
        found = onset([one.poor for one in samples])
        if found is not None and mostly(found.part, self._recent):
            cause = CAUSES[found.part]
            return replace(steady, words=f"not quite as measured: {cause}", cause=cause)
        if stability_index(reference.labels_of(samples), reference.labels) < ANOTHER:
            return replace(steady, words="not quite as measured, with no cause in sight")
        words = f"as clear as measured: {OTHER_EXPRESSIONS}"
        return replace(steady, words=words, cause=OTHER_EXPRESSIONS)

    def _index(self, samples: Sequence[Sample]) -> float:
        reference = self._reference
        return stability_index(reference.confidences_of(samples), reference.confidences)


def stability_index(counts: Counts, reference: Counts) -> float:
    """sum (p - q) log (p / q), over parts that each hold ``LEAST_SHARE`` of the reference; half a
    face is added to each, so that none is empty."""
    parts = parted(reference)
    seen, usual = (np.bincount(parts, weights=table) + 0.5 for table in (counts, reference))
    seen, usual = seen / seen.sum(), usual / usual.sum()
    return float(((seen - usual) * np.log(seen / usual)).sum())


def parted(reference: Counts) -> Counts:
    """Which part each bin belongs to: neighbours joined until they hold enough."""
    parts, part, held = [], 0, 0
    left, least = int(reference.sum()), LEAST_SHARE * int(reference.sum())
    for count in reference.tolist():
        parts.append(part)
        held, left = held + count, left - count
        if held >= least and left >= least:
            part, held = part + 1, 0
    return np.array(parts, np.int64)


def chance(counts: Counts, reference: Counts) -> float:
    """At most how often faces of one kind differ by as much (Dvoretzky, Kiefer, Wolfowitz; with
    Massart's constant, which is proven for one sample; for two it is tested by drawing):

        p = 2 exp(-2 D^2 n m / (n + m)),  D = max |F_n - F_m|

    Confidence in bins differs by no more than confidence itself, so the bound holds for it too.
    """
    faces, measured = int(counts.sum()), int(reference.sum())
    apart = np.abs(np.cumsum(counts / faces - reference / measured)).max()
    exponent = -2 * float(apart) ** 2 * faces * measured / (faces + measured)
    return min(1.0, 2 * math.exp(exponent))


def has_moved(counts: Counts, reference: Counts) -> bool:
    """By more than chance, and by enough to matter."""
    return chance(counts, reference) <= LEVEL and stability_index(counts, reference) >= MATERIAL


def onset(poor: Sequence[Collection[str]]) -> Onset | None:
    """The cause that most of the faces since some moment share, and that moment: where the poor
    ones outnumber the others by most. None where there is none at the end."""
    best, most = None, 0.0
    for part in CAUSES:
        votes = np.array([0.5 if part in one else -0.5 for one in poor])
        ahead = np.cumsum(votes[::-1])[::-1]
        if ahead.size and ahead.max() > most:
            best, most = Onset(part, int(ahead.argmax())), float(ahead.max())
    return best


def mostly(part: str, poor: Iterable[Collection[str]]) -> bool:
    shown = [part in one for one in poor]
    return 2 * sum(shown) > len(shown)


def moment_words(moment: datetime, now: datetime) -> str:
    return f"{moment:%H:%M}" if moment.date() == now.date() else f"{moment:%Y-%m-%d %H:%M}"
