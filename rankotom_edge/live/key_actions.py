"""What the keys do: toggle switches, save a snapshot, start and stop a recording, quit."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from calib.errors import RankotomError
from rankotom_edge.closing import Closing
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.views.controls import Controls, toggle
from rankotom_edge.views.display import Display

QUIT = ("q", "esc")
NOTICE_SECONDS = 3.0  # how long a notice stays on screen; chosen by eye


class Recording(Protocol):
    @property
    def folder(self) -> Path: ...

    def write(self, readings: FrameReadings) -> None: ...

    def close(self) -> None: ...


class KeyActions(Closing):
    """``record`` starts a recording and ``snapshot`` saves a display; None disables their keys.

    ``absent`` maps further keys that do nothing here to the reason, which is shown when they are
    pressed.
    """

    def __init__(
        self,
        record: Callable[[], Recording] | None = None,
        snapshot: Callable[[Display], Path] | None = None,
        absent: Mapping[str, str] | None = None,
    ) -> None:
        self._absent = absent or {}
        self.controls = Controls(absent=tuple(self._absent))
        self.quit = False
        self.warning: str | None = None  # shown whenever there is no notice
        self._record, self._snapshot = record, snapshot
        self._recording: Recording | None = None
        self._notice, self._notice_time = "", float("-inf")

    @property
    def recording(self) -> str | None:
        return None if self._recording is None else str(self._recording.folder)

    def write(self, readings: FrameReadings) -> None:
        """An error ends the run: the person relies on the recording."""
        if self._recording is not None:
            self._recording.write(readings)

    def press(self, key: str, display: Display, now: float) -> None:
        """If it fails, the error is shown as a notice and the loop goes on."""
        if key in self._absent:
            self._notify(self._absent[key], now)
            return
        self.controls = toggle(self.controls, key)
        try:
            if key in QUIT:
                self.quit = True
            elif key == "r" and self._record is not None:
                self._notify(self.toggle_recording(), now)
            elif key == "s" and self._snapshot is not None:
                self._notify(self.save_snapshot(display), now)
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

    def begin_new_session(self) -> None:
        """The recording goes on in another folder."""
        assert self._record is not None
        self.close()
        self._recording = self._record()

    def save_snapshot(self, display: Display) -> str:
        if display.latest is None:
            return "nothing to save yet"
        assert self._snapshot is not None
        status = replace(display.status, notice=None)
        return f"saved {self._snapshot(replace(display, status=status, controls=self.controls))}"

    def _notify(self, words: str, now: float) -> None:
        self._notice, self._notice_time = words, now

    def notice(self, now: float) -> str | None:
        return self._notice if now - self._notice_time < NOTICE_SECONDS else self.warning

    def close(self) -> None:
        recording, self._recording = self._recording, None
        if recording is not None:
            recording.close()
