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
    index: int  # in the source's own count, from 0; what was dropped leaves a gap
    time: float  # seconds since the first frame: by the clock if the source is live
    captured: float  # time.monotonic() when it left the camera or the file; latency counts from it

    @cached_property
    def grey(self) -> Image:
        """What following and reading look at, a third of the bytes."""
        return np.asarray(cv2.cvtColor(self.image, cv2.COLOR_BGR2GRAY), dtype=np.uint8)

    def prepare(self) -> None:
        """For a source's own thread: what is made there costs the loop nothing."""
        _ = self.grey
