"""Which frames of a source are read, where so many a second are enough."""

import math

ROUNDING = 1e-6  # of a slot: 3 / 30 s is the fourth tenth of a second


class Sampling:
    """Takes the first frame of each ``1 / fps`` seconds; every frame with None."""

    def __init__(self, fps: float | None) -> None:
        self._fps = fps
        self._slot = -1

    def takes(self, time: float) -> bool:
        if self._fps is None:
            return True
        slot = math.floor(time * self._fps + ROUNDING)
        taken = slot != self._slot
        self._slot = slot
        return taken
