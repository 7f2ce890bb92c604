"""The readings of the last minutes: for each second, the mean over the faces in sight."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib.arrays import FloatArray

SECONDS = 180


@dataclass(frozen=True, eq=False)
class Second:
    number: int
    shares: FloatArray | None  # one per emotion; None if no face was in sight

    def as_json(self) -> list[object]:
        shares = None if self.shares is None else np.round(self.shares, 3).tolist()
        return [self.number, shares]


class Timeline:
    """Sampled several times a second; a second is available once it is over."""

    def __init__(self) -> None:
        self._finished: deque[Second] = deque(maxlen=SECONDS)
        self._current: int | None = None
        self._samples: list[FloatArray] = []

    def add(self, now: float, faces: Sequence[FloatArray]) -> None:
        """``faces``: the probabilities of each face in sight."""
        number = int(now)
        if self._current is not None and number != self._current:
            shares = np.mean(self._samples, axis=0) if self._samples else None
            self._finished.append(Second(self._current, shares))
            self._samples = []
        self._current = number
        self._samples += faces

    def after(self, number: int) -> list[Second]:
        return [second for second in self._finished if second.number > number]
