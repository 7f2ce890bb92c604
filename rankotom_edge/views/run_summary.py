"""What a run showed: how long each expression was seen on whom, its surest moment, and why readings
were unsure."""

from collections import defaultdict
from typing import NamedTuple, TypeAlias

from rankotom_edge.faces.quality import REASONS
from rankotom_edge.frame import Image
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.wording import UNSURE, percent

Seconds: TypeAlias = defaultdict[str, float]

LONGEST_STEP = 1.0  # seconds; a longer one, as while a camera was lost, counts as this. By eye
LISTED_FACES = 6  # those in sight for longest; the others are counted
NOT_CONFIDENT = "not confident enough"


class Surest(NamedTuple):
    confidence: float
    time: float
    track: int
    crop: Image | None


class RunSummary:
    """A sink: constant memory but for a few numbers a face. A blend counts as its larger part.
    With ``keep_faces`` it keeps the crop of each surest moment."""

    def __init__(self, keep_faces: bool = False) -> None:
        self.labels: tuple[str, ...] = ()
        self.faces: dict[int, Seconds] = {}  # of each expression, and unsure
        self.reasons: Seconds = defaultdict(float)  # of each reason to be unsure
        self.surest: dict[str, Surest] = {}
        self._keep_faces = keep_faces
        self._time: float | None = None

    def write(self, readings: FrameReadings) -> None:
        time = readings.frame.time
        step = 0.0 if self._time is None else min(max(0.0, time - self._time), LONGEST_STEP)
        self._time = time
        for reading in readings.readings:
            self.labels = reading.labels
            seconds = self.faces.setdefault(reading.track, defaultdict(float))
            if reading.verdict == "unsure":
                seconds[UNSURE] += step
                known = reading.reason in REASONS.values()
                self.reasons[str(reading.reason) if known else NOT_CONFIDENT] += step
            else:
                seconds[reading.top if reading.blend is None else reading.blend.first] += step
                self._note_surest(reading, time)

    def _note_surest(self, reading: Reading, time: float) -> None:
        best = self.surest.get(reading.top)
        if best is None or reading.confidence > best.confidence:
            crop = reading.crop if self._keep_faces else None
            self.surest[reading.top] = Surest(reading.confidence, time, reading.track, crop)

    @property
    def expressions(self) -> list[tuple[str, float]]:
        """Seconds of each that was seen for one, the longest first, unsure last."""
        total: Seconds = defaultdict(float)
        for face in self.faces.values():
            for name, seconds in face.items():
                total[name] += seconds
        unsure = (UNSURE, total.pop(UNSURE, 0.0))
        return [(name, it) for name, it in (*_longest_first(total), unsure) if it >= 0.5]

    @property
    def longest_faces(self) -> list[tuple[int, Seconds]]:
        by_time = sorted(self.faces.items(), key=lambda face: -sum(face[1].values()))
        return sorted(by_time[:LISTED_FACES], key=lambda face: face[0])

    def share(self, seconds: float) -> str:
        """Of the time of all faces together."""
        return f"{100 * seconds / sum(sum(face.values()) for face in self.faces.values()):.0f} %"

    def details(self, name: str) -> str:
        """The surest moment of an expression, or why readings were unsure."""
        if name == UNSURE:
            reasons = _longest_first(self.reasons)[:3]
            return ", ".join(f"{reason} {clock(it)}" for reason, it in reasons if it >= 0.5)
        best = self.surest.get(name)
        if best is None:
            return ""
        return f"surest {percent(best.confidence)} at {clock(best.time)}, face {best.track}"

    def left_out(self) -> str:
        more = len(self.faces) - LISTED_FACES
        return f"+{more} more faces" if more > 0 else ""

    def lines(self) -> list[str]:
        """For a terminal; none where no face was read for a second."""
        rows = [
            f"{name:<11}{clock(seconds):>8}{self.share(seconds):>7}   {self.details(name)}"
            for name, seconds in self.expressions
        ]
        faces = [
            f"face {track}: {clock(sum(face.values()))}, mostly {_longest_first(face)[0][0]}"
            for track, face in self.longest_faces
        ]
        listed = "; ".join(filter(None, (*faces, self.left_out())))
        return [*rows, listed] if rows else []


def _longest_first(seconds: Seconds) -> list[tuple[str, float]]:
    return sorted(seconds.items(), key=lambda item: -item[1])


def clock(seconds: float) -> str:
    """ "31 s", "1:15", "1:02:03"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    hours, minutes = whole // 3600, whole // 60 % 60
    start = f"{hours}:{minutes:02}" if hours else f"{minutes}"
    return f"{start}:{whole % 60:02}"
