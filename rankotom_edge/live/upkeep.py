"""What a run of months needs once a minute: old sessions removed, a new one begun, and a warning
before the disk is full."""

import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rankotom_edge.live.key_actions import KeyActions
from rankotom_edge.recording.retention import Retention, kept_sessions

EVERY = 60.0  # seconds
# Seconds of recording, and bytes, that are left when it warns. Chosen by eye.
WARN_SECONDS, WARN_BYTES = 3600.0, 256e6


class Upkeep:
    """Called with the time at each turn of the loop. ``tell`` is given each new warning."""

    def __init__(
        self,
        actions: KeyActions,
        retention: Retention,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._actions, self._retention, self._tell, self._clock = actions, retention, tell, clock
        self._next = 0.0
        self._last: tuple[Path, float, int] | None = None  # the session, when, and its size

    def __call__(self, now: float) -> None:
        if now < self._next:
            return
        self._next = now + EVERY
        ours = self._session()
        if ours is not None and self._retention.is_full(ours, self._clock()):
            self._actions.begin_new_session()
        self._retention.apply(self._clock(), self._session())
        self._warn(now)

    def _session(self) -> Path | None:
        recording = self._actions.recording
        return None if recording is None else Path(recording)

    def _warn(self, now: float) -> None:
        before, self._actions.warning = self._actions.warning, None
        folder = self._session()
        if folder is None:
            self._last = None
            return
        size = next(
            (each.size for each in kept_sessions(folder.parent) if each.folder == folder), 0
        )
        rate = 0.0
        if self._last is not None and self._last[0] == folder and now > self._last[1]:
            rate = (size - self._last[2]) / (now - self._last[1])
        self._last = (folder, now, size)
        words = None
        with suppress(OSError):  # somebody removed the folder
            words = disk_warning(shutil.disk_usage(folder).free, rate)
        self._actions.warning = words
        if words is not None and before is None:
            self._tell(f"{words}: {folder.parent}")


def disk_warning(free: float, rate: float) -> str | None:
    """``free``: bytes; ``rate``: bytes a second that are being recorded."""
    seconds = free / rate if rate > 0 else float("inf")
    if seconds > WARN_SECONDS and free > WARN_BYTES:
        return None
    if seconds > WARN_SECONDS:
        return f"the disk is nearly full: {free / 1e6:.0f} MB are left"
    return f"the disk is full in about {max(1, round(seconds / 60))} min"
