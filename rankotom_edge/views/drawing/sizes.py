"""The sizes of text, margins and panels, which grow with the picture."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

COLUMNS, LINES = 640, 480  # the picture at which ``unit`` is 1 and text is 12 pixels high


@dataclass(frozen=True)
class Sizes:
    """In pixels."""

    unit: float

    def px(self, length: float) -> int:
        return max(1, round(length * self.unit))

    @cached_property
    def text(self) -> int:
        return self.px(12)

    @cached_property
    def title(self) -> int:
        return self.px(15)

    @cached_property
    def pad(self) -> int:
        return self.px(10)

    @cached_property
    def gap(self) -> int:
        """Between panels, and around them."""
        return self.px(8)

    @cached_property
    def row(self) -> int:
        return self.px(16)

    @cached_property
    def head(self) -> int:
        """The headline and the line beneath it."""
        return self.px(40)

    @cached_property
    def width(self) -> int:
        """A panel's."""
        return self.px(208)

    @cached_property
    def radius(self) -> int:
        return self.px(7)
