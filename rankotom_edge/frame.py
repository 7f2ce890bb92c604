"""One picture of a source, and when it was taken."""

from dataclasses import dataclass, field

import cv2
import numpy as np

from rankotom_edge.faces import Image


@dataclass(eq=False)
class Frame:
    image: Image  # BGR (height, width, 3)
    index: int  # in the source's own count, from 0; what was dropped leaves a gap
    time: float  # seconds since the first frame: by the clock if the source is live
    captured: float  # time.monotonic() when it left the camera or the file; latency counts from it
    # What following and reading look at, a third of the bytes. Made with the frame, which is in the
    # source's own thread, so that it costs the loop nothing.
    grey: Image = field(init=False)

    def __post_init__(self) -> None:
        self.grey = np.asarray(cv2.cvtColor(self.image, cv2.COLOR_BGR2GRAY), dtype=np.uint8)
