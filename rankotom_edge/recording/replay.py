"""A recorded session as a source and its reader, so that the live loop shows it again."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator

from calib.errors import RankotomError
from rankotom_edge.frame import Frame
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.recording.session import Session
from rankotom_edge.sources.playback_source import TimedImage

# Seconds between two frames that are waited for: a camera may have been lost all night.
LONGEST_GAP = 3.0


class SessionClip:
    """Its pictures, at the pace of its frames; ``told`` is what was said of those given so far."""

    def __init__(self, session: Session) -> None:
        self.name = f"replay of {session.metadata['source']}, {session.metadata['started']}"
        self.still = bool(session.metadata.get("still", False))
        self.photographs = bool(session.metadata.get("photographs", False))
        self.fps: float | None = session.metadata["fps"]
        self.remark: str | None = None if session.complete else "the recording was cut off"
        self.told: deque[FrameReadings] = deque()
        self._session = session

    def images(self) -> Generator[TimedImage, None, None]:
        shown, before, time = 0, 0.0, 0.0
        for moment in self._session.moments():
            time += min(max(0.0, moment.frame.time - before), LONGEST_GAP)
            before = moment.frame.time
            self.told.append(moment)
            yield TimedImage(moment.frame.image, time)
            shown += 1
        if shown == 0:
            raise RankotomError(f"There is no frame in the session {self._session.folder}.")
        recorded = self._session.metadata.get("frames")
        if recorded is not None and shown < recorded:
            self.remark = f"only {shown:,} of its {recorded:,} frames are left"


class RecordedReader:
    """Says of each frame what was said when it was recorded."""

    def __init__(self, session: Session, reel: SessionClip) -> None:
        self.model = session.model.name
        self.precision = session.model.precision
        self._reel = reel

    def read(self, frame: Frame) -> FrameReadings:
        return self._reel.told.popleft()


def not_recorded(session: Session) -> dict[str, str]:
    """The keys that can do nothing in its replay, and why."""
    why = {
        "r": "nothing to record: this is a replay",
        "c": "not recorded: where the evidence is",
    }
    if not session.has_video:
        why["v"] = "not recorded: the face (that takes --record-video)"
    return why
