"""What was read over the last minutes: for each second, the mean over the faces in sight."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from calib.arrays import FloatArray

SECONDS = 180


@dataclass(frozen=True, eq=False)
class Second:
    number: int
    shares: FloatArray | None  # (k,); None where no face was in sight

    def as_json(self) -> list[object]:
        shares = None if self.shares is None else np.round(self.shares, 3).tolist()
        return [self.number, shares]


class Timeline:
    """Fed some times a second; a second is told when it is over."""

    def __init__(self) -> None:
        self._over: deque[Second] = deque(maxlen=SECONDS)
        self._number: int | None = None
        self._seen: list[FloatArray] = []

    def add(self, now: float, faces: Sequence[FloatArray]) -> None:
        """``faces``: the probabilities of each face in sight."""
        number = int(now)
        if self._number is not None and number != self._number:
            shares = np.mean(self._seen, axis=0) if self._seen else None
            self._over.append(Second(self._number, shares))
            self._seen = []
        self._number = number
        self._seen += faces

    def after(self, number: int) -> list[Second]:
        return [second for second in self._over if second.number > number]
