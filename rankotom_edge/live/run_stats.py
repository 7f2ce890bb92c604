"""What a run comes to: frames, pace and latency, in memory that does not grow."""

from __future__ import annotations

from collections import deque

import numpy as np

LATELY = 1.0  # seconds that the pace on screen looks back over
KEPT = 10_000  # latencies: five minutes of a camera's


class RunStats:
    def __init__(self, started: float) -> None:
        self.frames = 0
        self._started = started
        self._recent: deque[tuple[float, float]] = deque()  # (when, latency)
        self._latencies: deque[float] = deque(maxlen=KEPT)

    def add(self, latency_ms: float, now: float) -> None:
        self.frames += 1
        self._latencies.append(latency_ms)
        self._recent.append((now, latency_ms))
        self._forget(now)

    def fps(self, now: float) -> float | None:
        """Of the last second; None while there is too little to count."""
        self._forget(now)
        if len(self._recent) < 2 or self._recent[-1][0] <= self._recent[0][0]:
            return None
        return (len(self._recent) - 1) / (self._recent[-1][0] - self._recent[0][0])

    def latency(self, now: float) -> float | None:
        """The mean of the last second, in milliseconds."""
        self._forget(now)
        if not self._recent:
            return None
        return sum(latency for _, latency in self._recent) / len(self._recent)

    def seconds(self, now: float) -> float:
        return now - self._started

    def summary(self, now: float, dropped: int) -> str:
        seconds = self.seconds(now)
        if not self.frames:
            return f"no frame in {seconds:.1f} s"
        middle, most = np.quantile(self._latencies, [0.5, 0.95])
        words = f"{self.frames:,} {'frame' if self.frames == 1 else 'frames'} in {seconds:.1f} s"
        if seconds > 0:
            words += f" ({self.frames / seconds:.1f} a second)"
        if dropped:
            words += f", {dropped:,} dropped"
        return f"{words}; capture to reading {middle:.1f} ms, 19 of 20 under {most:.1f} ms"

    def _forget(self, now: float) -> None:
        while self._recent and now - self._recent[0][0] > LATELY:
            self._recent.popleft()
