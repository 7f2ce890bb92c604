"""No view: nothing to see, no keys, never closed."""

from rankotom_edge.controls import Controls
from rankotom_edge.moment import Moment, Status


class NoView:
    blank = True
    closed = False
    interactive = False

    def show(self, moment: Moment | None, status: Status, controls: Controls) -> None:
        pass

    def key(self) -> str | None:
        return None
