"""Frame count, frame rate and latency of a run, in constant memory."""

from collections import deque

import numpy as np

WINDOW = 1.0  # seconds that the frame rate on screen is averaged over; chosen by eye
MAX_LATENCIES = 10_000  # kept for the summary: the last five minutes of a camera


class RunStats:
    def __init__(self, started: float) -> None:
        self.frames = 0
        self._started = started
        self._recent: deque[tuple[float, float]] = deque()  # (when, latency)
        self._latencies: deque[float] = deque(maxlen=MAX_LATENCIES)

    def add(self, latency_ms: float, now: float) -> None:
        self.frames += 1
        self._latencies.append(latency_ms)
        self._recent.append((now, latency_ms))
        self._forget(now)

    def fps(self, now: float) -> float | None:
        """Over the last second; None with fewer than two frames."""
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
        p50, p95 = np.quantile(self._latencies, [0.5, 0.95])
        words = f"{self.frames:,} {'frame' if self.frames == 1 else 'frames'} in {seconds:.1f} s"
        if seconds > 0:
            words += f" ({self.frames / seconds:.1f} a second)"
        if dropped:
            words += f", {dropped:,} dropped"
        return f"{words}; capture to reading p50 {p50:.1f} ms, p95 {p95:.1f} ms"

    def _forget(self, now: float) -> None:
        while self._recent and now - self._recent[0][0] > WINDOW:
            self._recent.popleft()
