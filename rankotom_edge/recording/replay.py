"""A recorded session as a clip and a reader, so that the live loop can show it again."""

from collections import deque
from collections.abc import Generator
from dataclasses import replace

import cv2

from calib.errors import RankotomError
from rankotom_edge.faces.crop import crop
from rankotom_edge.frame import Frame
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.recording.session import READINGS, Session
from rankotom_edge.sources.playback_source import Clip, TimedImage

# Seconds. Longer gaps are shortened to this: a camera may have been lost all night. By eye.
LONGEST_GAP = 3.0


class SessionClip(Clip):
    """The images of a session at their recorded pace; ``readings`` are those of the images
    decoded and not yet read."""

    def __init__(self, session: Session) -> None:
        self.name = f"replay of {session.metadata['source']}, {session.metadata['started']}"
        self.still = session.metadata["still"]
        self.photographs = session.metadata["photographs"]
        self.fps = session.metadata["fps"]
        self.remark = None if session.complete else "the recording was cut off"
        self.readings: deque[FrameReadings] = deque()
        self._session = session

    def images(self) -> Generator[TimedImage, None, None]:
        shown, previous, time = 0, 0.0, 0.0
        for recorded in self._session.frames():
            time += min(max(0.0, recorded.frame.time - previous), LONGEST_GAP)
            previous = recorded.frame.time
            self.readings.append(self._with_crops(recorded))
            yield TimedImage(recorded.frame.image, time)
            shown += 1
        if shown == 0:
            raise RankotomError(f"There is no frame in the session {self._session.folder}.")
        expected = self._session.metadata.get("frames")
        if expected is not None and shown < expected:
            self.remark = f"only {shown:,} of its {expected:,} frames are left"

    def _with_crops(self, recorded: FrameReadings) -> FrameReadings:
        """Crops are not on disk; they are cut from the video again."""
        if not self._session.has_video:
            return recorded
        image, contract = recorded.frame.image, self._session.model.crop
        framing, size, channels = contract.framing, contract.size, contract.channels
        try:
            readings = tuple(
                replace(reading, crop=crop(image, reading.face, framing, size, channels))
                for reading in recorded.readings
            )
        except (ArithmeticError, ValueError, RankotomError, cv2.error) as error:
            raise RankotomError(
                f"A face in frame {recorded.frame.index} of {self._session.folder / READINGS} "
                f"cannot be cropped ({error!r}). It was changed or damaged."
            ) from error
        return replace(recorded, readings=readings)


class RecordedReader:
    """Gives each frame the readings that it had when it was recorded."""

    def __init__(self, session: Session, clip: SessionClip) -> None:
        self.model, self.precision = session.model.name, session.model.precision
        self.calibration = session.calibration
        self._clip = clip

    def read(self, frame: Frame) -> FrameReadings:
        return self._clip.readings.popleft()


def unavailable_keys(session: Session) -> dict[str, str]:
    """The keys that do nothing in the session's replay, and why."""
    reasons = {
        "r": "nothing to record: this is a replay",
        "c": "not recorded: where the evidence is",
    }
    if not session.has_video:
        reasons["v"] = "not recorded: the face (that takes --record-video)"
    return reasons
