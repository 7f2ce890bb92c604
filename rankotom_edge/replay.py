"""A recorded session as a source and its reader, so that the live loop shows it again."""

from __future__ import annotations

from collections.abc import Generator

from calib.errors import RankotomError
from rankotom_edge.frame import Frame
from rankotom_edge.moment import Moment
from rankotom_edge.session import Session, recorded_moment
from rankotom_edge.sources.reel import Picture
from rankotom_edge.tracking import TrackedFace


class SessionReel:
    """Its pictures, at the times of its frames."""

    photographs = False

    def __init__(self, session: Session) -> None:
        self.name = f"replay of {session.metadata['source']}, {session.metadata['started']}"
        self.still = bool(session.metadata.get("still", False))
        self.fps: float | None = session.metadata["fps"]
        self.remark: str | None = None if session.complete else "the recording was cut off"
        self._session = session

    def pictures(self) -> Generator[Picture, None, None]:
        shown = 0
        for moment in self._session.moments():
            yield Picture(moment.frame.image, moment.frame.time)
            shown += 1
        if shown == 0:
            raise RankotomError(f"There is no frame in the session {self._session.folder}.")
        recorded = self._session.metadata.get("frames")
        if recorded is not None and shown < recorded:
            self.remark = f"only {shown:,} of its {recorded:,} frames are left"


class RecordedReader:
    """Says of each frame what was said when it was recorded."""

    def __init__(self, session: Session) -> None:
        self.model = str(session.metadata["model"]["name"])
        self.precision = str(session.metadata["model"]["precision"])
        self._lines = session.lines()

    def find(self, frame: Frame) -> tuple[TrackedFace, ...]:
        return ()

    def read(self, frame: Frame, faces: tuple[TrackedFace, ...]) -> Moment:
        return recorded_moment(next(self._lines), frame.image)
