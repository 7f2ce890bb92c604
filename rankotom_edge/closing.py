"""A base class that makes ``close()`` run at the end of a ``with`` block."""

from typing import TypeVar

Self = TypeVar("Self", bound="Closing")


class Closing:
    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
