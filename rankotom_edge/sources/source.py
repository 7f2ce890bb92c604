"""The interface of every source of frames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Protocol, TypeVar

from calib.errors import RankotomError
from rankotom_edge.frame import Frame

Clock = Callable[[], float]
Itself = TypeVar("Itself", bound="Source")


@dataclass(frozen=True)
class State:
    kind: Literal["playing", "lost", "ended"]
    words: str  # for the status line: "lost: opening it again in 4 s (third try)"


class Source(Protocol):
    """Frames, one at a time, for one reading thread. A context manager."""

    name: str  # as shown to the user: "camera 0", "yes.mkv"
    live: bool  # True: gives the newest frame and drops older ones; False: gives every frame
    still: bool  # a single moving picture (the demo), not a live person
    photographs: bool  # successive images are unrelated, so faces are not tracked across them
    fps: float | None  # as the source reports it; None if it does not
    late: float = 0.0  # seconds by which the last frame missed its playback time

    @property
    def state(self) -> State: ...

    @property
    def dropped(self) -> int:
        """How many frames a newer one replaced before they were read."""
        ...

    def read(self, timeout: float) -> Frame | None:
        """The next frame; None if none came within ``timeout`` seconds or the source has ended
        (see ``state``)."""
        ...

    def close(self) -> None: ...

    def __enter__(self: Itself) -> Itself:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def reading_error(error: Exception, name: str) -> RankotomError:
    """Turn what stopped a source's reading thread into a message for the user."""
    if isinstance(error, RankotomError):
        return error
    if isinstance(error, OSError) and error.strerror:
        return RankotomError(f"{error.filename or name} cannot be read: {error.strerror}.")
    message = str(error).strip() or type(error).__name__
    return RankotomError(f"{name} cannot be read any further: {message.splitlines()[0]}")
