"""A recorded session as a source and its reader, so that the live loop shows it again."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import TYPE_CHECKING

from calib.errors import RankotomError
from rankotom_edge.crop import crop
from rankotom_edge.frame import Frame
from rankotom_edge.moment import Moment
from rankotom_edge.session import Session, recorded_moment
from rankotom_edge.sources.reel import Picture
from rankotom_edge.tracking import TrackedFace

if TYPE_CHECKING:
    from rankotom_edge.card import CropContract
    from rankotom_edge.controls import Controls
    from rankotom_edge.live import View
    from rankotom_edge.moment import Status


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


class ReplayView:
    """A view whose faces are cut from the video again, but only while it shows them."""

    def __init__(self, view: View, contract: CropContract) -> None:
        self.interactive, self.blank = view.interactive, view.blank
        self._view, self._contract = view, contract

    @property
    def closed(self) -> bool:
        return self._view.closed

    def show(self, moment: Moment | None, status: Status, controls: Controls) -> None:
        if moment is not None:
            moment = as_asked(moment, controls, self._contract)
        self._view.show(moment, status, controls)

    def key(self) -> str | None:
        return self._view.key()


def as_asked(moment: Moment, controls: Controls, contract: CropContract) -> Moment:
    """With each face as the network saw it, where that is asked for."""
    if not controls.crop:
        return moment
    image, (size, channels) = moment.frame.image, (contract.size, contract.channels)
    readings = (
        replace(reading, crop=crop(image, reading.face, contract.framing, size, channels))
        for reading in moment.readings
    )
    return replace(moment, readings=tuple(readings))


def not_recorded(session: Session) -> dict[str, str]:
    """The keys that can do nothing in its replay, and why."""
    why = {
        "r": "nothing to record: this is a replay",
        "c": "not recorded: where the evidence is",
    }
    if not session.has_video:
        why["v"] = "not recorded: the face (that takes --record-video)"
    return why
