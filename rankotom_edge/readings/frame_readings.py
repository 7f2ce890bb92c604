"""A frame, its readings, and how long they took."""

from dataclasses import dataclass

from rankotom_edge.frame import Frame
from rankotom_edge.readings.reading import Reading


@dataclass(frozen=True)
class Latency:
    """In milliseconds."""

    detect: float | None  # None where the faces were followed from an earlier frame
    classify: float
    total: float  # from capture to readings
    find: float = 0.0  # finding the faces, detector calls included; not in the JSON

    def as_json(self) -> dict[str, float | None]:
        detect = None if self.detect is None else round(self.detect, 3)
        return {
            "detect": detect,
            "classify": round(self.classify, 3),
            "total": round(self.total, 3),
        }


@dataclass(frozen=True, eq=False)
class FrameReadings:
    frame: Frame
    readings: tuple[Reading, ...]
    latency: Latency

    def as_json(self) -> dict[str, object]:
        """A line of ``--json`` and of a recorded session."""
        return {
            "frame": self.frame.index,
            "time": round(self.frame.time, 4),
            "faces": [reading.as_json() for reading in self.readings],
            "latency_ms": self.latency.as_json(),
        }
