"""Things that are closed at the end of a ``with`` block, however it ends."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

Itself = TypeVar("Itself", bound="Closing")


class Closing:
    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self: Itself) -> Itself:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
