"""A rectangle on the canvas, in pixels."""

from __future__ import annotations

from typing import NamedTuple


class Rect(NamedTuple):  # a tuple is the quickest to make, and a crowd makes hundreds per frame
    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def pixels(self) -> tuple[int, int, int, int]:
        """x, y, width and height, rounded so that rectangles with a common edge keep it."""
        x, y = round(self.x), round(self.y)
        return x, y, round(self.right) - x, round(self.bottom) - y

    def grow(self, by: float) -> Rect:
        return Rect(self.x - by, self.y - by, self.width + 2 * by, self.height + 2 * by)

    def within(self, other: Rect) -> Rect:
        """The part inside ``other``; its width or height may be 0."""
        x = min(max(self.x, other.x), other.right)
        y = min(max(self.y, other.y), other.bottom)
        right = max(x, min(self.right, other.right))
        bottom = max(y, min(self.bottom, other.bottom))
        return Rect(x, y, right - x, bottom - y)

    def overlaps(self, other: Rect) -> bool:
        return (
            self.x < other.x + other.width
            and other.x < self.x + self.width
            and self.y < other.y + other.height
            and other.y < self.y + self.height
        )

    def contains(self, other: Rect) -> bool:
        return (
            self.x <= other.x
            and self.y <= other.y
            and other.right <= self.right
            and other.bottom <= self.bottom
        )
