"""The steps of a long task: which one runs, how many there are, and how long the rest will take."""

import time
from collections.abc import Callable, Mapping

# Time left is told once so much of the planned seconds is done; chosen by eye.
ENOUGH_DONE = 5.0
USUAL = 5.0  # planned seconds of a step that nobody expected
ALMOST = 0.95  # of a step is the most that time alone completes


class Steps:
    """``begin`` starts a step, and so ends the one before. Only the ratios of the planned seconds
    count: how fast this machine is, the finished steps tell."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._planned: dict[str, float] = {}
        self._done = 0.0  # planned seconds of the finished steps
        self._started = self._began = clock()
        self.words, self.number = "", 0

    def expect(self, seconds: Mapping[str, float]) -> None:
        """More steps come, by their words."""
        self._planned |= seconds

    def begin(self, words: str) -> None:
        self._planned.setdefault(words, USUAL)
        self._done += self._planned.get(self.words, 0.0)
        self._began = self._clock()
        self.words, self.number = words, self.number + 1

    @property
    def count(self) -> int:
        return len(self._planned)

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1; within a step, as its time passes."""
        return self._now_done() / (sum(self._planned.values()) or 1.0)

    @property
    def seconds_left(self) -> float | None:
        """None until the finished steps tell how fast it goes."""
        if self._done < ENOUGH_DONE:
            return None
        return (sum(self._planned.values()) - self._now_done()) * self._pace()

    def _now_done(self) -> float:
        step = self._planned.get(self.words, 0.0)
        return self._done + min(ALMOST * step, (self._clock() - self._began) / self._pace())

    def _pace(self) -> float:
        """Seconds for each planned one."""
        enough = self._done >= ENOUGH_DONE
        return max(1e-3, (self._began - self._started) / self._done) if enough else 1.0
