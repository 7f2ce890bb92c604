"""One picture of a source, and when it was taken."""

from dataclasses import dataclass

from rankotom_edge.faces import Image


@dataclass(frozen=True, eq=False)
class Frame:
    image: Image  # BGR (height, width, 3)
    index: int  # in the source's own count, from 0; what was dropped leaves a gap
    time: float  # seconds since the first frame: by the clock if the source is live
    captured: float  # time.monotonic() when it left the camera or the file; latency counts from it
