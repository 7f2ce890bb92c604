"""The headlines of the last minute, face by face, for a strip that shows them over time."""

from collections import Counter, deque
from collections.abc import Iterable
from typing import NamedTuple

from rankotom_edge.readings.reading import Reading

SECONDS = 60.0
STEP = 0.5  # seconds of a moment; chosen by eye


class Moment(NamedTuple):
    """The headline that a face had for most of a step."""

    emotions: tuple[int, ...]  # their indexes: the two of a blend, else the highest
    unsure: bool


class History:
    """Times are the source's; a source that starts again, such as a clip, empties it. Only for the
    thread of the loop."""

    def __init__(self, seconds: float = SECONDS, step: float = STEP) -> None:
        self.step, self.length = step, round(seconds / step)
        self._lanes: dict[int, deque[tuple[int, Moment]]] = {}  # by track: (number of the step, …)
        self._current: dict[int, Counter[Moment]] = {}
        self._number, self._time = 0, float("-inf")

    def add(self, time: float, readings: Iterable[Reading]) -> None:
        if time < self._time:
            self._lanes, self._current, self._number = {}, {}, 0
        self._time = time
        number = int(time / self.step)
        if number != self._number:
            self._finish_step()
            self._number = number
        for reading in readings:
            self._current.setdefault(reading.track, Counter())[_moment(reading)] += 1

    def _finish_step(self) -> None:
        for track, counted in self._current.items():
            lane = self._lanes.setdefault(track, deque(maxlen=self.length))
            lane.append((self._number, counted.most_common(1)[0][0]))
        self._current = {}
        oldest = self._number - self.length
        self._lanes = {track: lane for track, lane in self._lanes.items() if lane[-1][0] > oldest}

    @property
    def tracks(self) -> tuple[int, ...]:
        """The faces of the last minute, those that have gone included."""
        return tuple(sorted(self._lanes.keys() | self._current.keys()))

    def lane(self, track: int) -> tuple[Moment | None, ...]:
        """``length`` moments, the oldest first; None where the face was not in sight."""
        moments: list[Moment | None] = [None] * self.length
        first = self._number - self.length + 1
        for number, moment in self._lanes.get(track, ()):
            if number >= first:
                moments[number - first] = moment
        if track in self._current:
            moments[-1] = self._current[track].most_common(1)[0][0]
        return tuple(moments)


def _moment(reading: Reading) -> Moment:
    unsure, blend = reading.verdict == "unsure", reading.blend
    if unsure or blend is None:
        return Moment((int(reading.probabilities.argmax()),), unsure)
    return Moment((reading.labels.index(blend.first), reading.labels.index(blend.second)), False)
