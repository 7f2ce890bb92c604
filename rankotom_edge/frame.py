"""One picture of a source, and when it was taken."""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]


@dataclass(eq=False)
class Frame:
    image: Image  # BGR (height, width, 3)
    index: int  # counted by the source, from 0; dropped frames leave a gap
    time: float  # seconds since the first frame; by the clock if the source is live
    captured: float  # time.monotonic() when it left the camera or the file; latency counts from it

    @cached_property
    def grey(self) -> Image:
        """What following and reading use: a third of the bytes."""
        return np.asarray(cv2.cvtColor(self.image, cv2.COLOR_BGR2GRAY), dtype=np.uint8)

    def prepare(self) -> None:
        """Called in the source's own thread: what is computed there costs the loop nothing."""
        _ = self.grey
