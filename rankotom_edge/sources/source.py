"""The interface of every source of frames."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from calib.errors import RankotomError
from rankotom_edge.closing import Closing
from rankotom_edge.frame import Frame

Clock = Callable[[], float]


@dataclass(frozen=True)
class State:
    kind: Literal["playing", "lost", "ended"]
    words: str  # for the status line: "lost: opening it again in 4 s (third try)"


class Source(Closing, ABC):
    """Frames, one at a time, for one reading thread."""

    name: str  # as shown to the user: "camera 0", "yes.mkv"
    live: bool  # True: gives the newest frame and drops older ones; False: gives every frame
    still: bool = False  # a single moving picture (the demo), not a live person
    photographs: bool = False  # unrelated images: faces are not tracked from one to the next
    fps: float | None = None  # as the source reports it; None if it does not
    late: float = 0.0  # seconds by which the last frame missed its playback time

    @property
    @abstractmethod
    def state(self) -> State: ...

    @property
    @abstractmethod
    def dropped(self) -> int:
        """How many frames a newer one replaced before they were read."""

    @abstractmethod
    def read(self, timeout: float) -> Frame | None:
        """The next frame; None if none came within ``timeout`` seconds or the source has ended
        (see ``state``)."""


def reading_error(error: Exception, name: str) -> RankotomError:
    """Turn what stopped a source's reading thread into a message for the user."""
    if isinstance(error, RankotomError):
        return error
    if isinstance(error, OSError) and error.strerror:
        return RankotomError(f"{error.filename or name} cannot be read: {error.strerror}.")
    message = str(error).strip() or type(error).__name__
    ended = RankotomError(f"{name} cannot be read any further: {message.splitlines()[0]}")
    ended.__cause__ = error  # for --debug
    return ended
