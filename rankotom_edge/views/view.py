"""What the live loop asks of a view."""

from typing import Protocol

from rankotom_edge.views.display import Display


class View(Protocol):
    interactive: bool  # a person can press keys
    shows_faces: bool  # False: shown only when the source's state changes (lost, playing, ended)

    @property
    def closed(self) -> bool: ...

    def show(self, display: Display) -> None: ...

    def key(self) -> str | None:
        """The oldest key press that has not been handled yet."""
