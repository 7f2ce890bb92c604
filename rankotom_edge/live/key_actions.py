"""What the person at the keys asks for: switches, a snapshot, a recording, the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from calib.errors import RankotomError
from rankotom_edge.closing import Closing
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.views.controls import Controls, pressed
from rankotom_edge.views.display import Display

QUIT = ("q", "esc")
NOTICE_SECONDS = 3.0


class Sink(Protocol):
    """What takes every moment: a stream, a recording."""

    def write(self, moment: FrameReadings) -> None: ...


class Recording(Sink, Protocol):
    @property
    def folder(self) -> Path: ...

    def close(self) -> None: ...


class KeyActions(Closing):
    """``record`` and ``snapshot`` are None where there is nothing to record, as in a replay; keys
    that can do nothing there are ``absent``, each with the words that say why."""

    def __init__(
        self,
        sinks: Sequence[Sink] = (),
        record: Callable[[], Recording] | None = None,
        snapshot: Callable[[Display], Path] | None = None,
        absent: Mapping[str, str] | None = None,
    ) -> None:
        self._absent = absent or {}
        self.controls = Controls(absent=tuple(self._absent))
        self.quit = False
        self._sinks = sinks
        self._record, self._snapshot = record, snapshot
        self._recording: Recording | None = None
        self._notice, self._noticed = "", float("-inf")

    @property
    def recording(self) -> str | None:
        return None if self._recording is None else str(self._recording.folder)

    def write(self, moment: FrameReadings) -> None:
        for sink in self._sinks:
            sink.write(moment)
        if self._recording is not None:
            self._recording.write(moment)

    def press(self, key: str, display: Display, now: float) -> None:
        """What a key cannot do is said on screen. A recording that breaks off later ends the run:
        whoever records relies on it."""
        if key in self._absent:
            self._notify(self._absent[key], now)
            return
        self.controls = pressed(self.controls, key)
        try:
            if key in QUIT:
                self.quit = True
            elif key == "r" and self._record is not None:
                self._notify(self.toggle_recording(), now)
            elif key == "s" and self._snapshot is not None:
                self._notify(self.save(display), now)
        except RankotomError as error:
            self._notify(str(error), now)

    def toggle_recording(self) -> str:
        if self._recording is None:
            assert self._record is not None
            self._recording = self._record()
            return f"recording to {self._recording.folder}"
        folder = self._recording.folder
        self.close()
        return f"recorded {folder}"

    def save(self, display: Display) -> str:
        if display.latest is None:
            return "nothing to save yet"
        assert self._snapshot is not None
        status = replace(display.status, notice=None)
        return f"saved {self._snapshot(replace(display, status=status, controls=self.controls))}"

    def _notify(self, words: str, now: float) -> None:
        self._notice, self._noticed = words, now

    def notice(self, now: float) -> str | None:
        return self._notice if now - self._noticed < NOTICE_SECONDS else None

    def close(self) -> None:
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.close()
