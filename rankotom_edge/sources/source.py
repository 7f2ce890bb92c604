"""What every source of pictures is to the loop that reads it."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Protocol, TypeVar

from rankotom_edge.frame import Frame

Itself = TypeVar("Itself", bound="Source")


@dataclass(frozen=True)
class State:
    kind: Literal["playing", "lost", "ended"]
    words: str  # for the status line: "lost: opening it again in 4 s (third try)"


class Source(Protocol):
    """Frames, one at a time. A context manager; to be read by one thread."""

    name: str  # as a person would say it: "camera 0", "yes.mkv"
    live: bool  # gives the newest frame, and drops what nobody read in time; else every frame
    still: bool  # one picture, moved: nobody is there
    photographs: bool  # each picture stands alone, and is no moment of the one before
    fps: float | None  # its own pace; None where it does not say
    late: float = 0.0  # seconds that the last frame came after its time, where it has one

    @property
    def state(self) -> State: ...

    @property
    def dropped(self) -> int:
        """The frames that arrived and were replaced by a newer one before anyone read them."""
        ...

    def read(self, timeout: float) -> Frame | None:
        """The next frame; None when none came within ``timeout`` seconds, or none will (see
        ``state``)."""
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
