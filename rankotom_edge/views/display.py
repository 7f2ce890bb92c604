"""What a view shows: the latest readings, the state around them, and the switches."""

from dataclasses import dataclass, field

from rankotom_edge.readings.drift_monitor import DriftStatus
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.sources import State
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.history import History


@dataclass(frozen=True)
class Status:
    """Everything that a view shows besides the faces."""

    source: str
    state: State
    fps: float | None  # of the last second; None until there are frames to count
    latency_ms: float | None  # from capture to reading, mean of the last second
    dropped: int
    model: str
    precision: str
    recording: str | None = None  # the folder being written
    still: bool = False  # the demo's portrait, which must not pass for a live person
    notice: str | None = None  # what the last key did: "saved snapshot-….png"
    drift: DriftStatus | None = None  # None without a drift monitor, as in a replay


@dataclass(frozen=True, eq=False)
class Display:
    latest: FrameReadings | None  # None before the first frame
    status: Status
    controls: Controls
    history: History = field(default_factory=History)  # goes on while this display is shown
