"""No view: no keys, and nothing to see but a note when a source is lost or back."""

import sys
from contextlib import suppress

from rankotom_edge.views.display import Display


class NoView:
    shows_faces = False
    interactive = False

    @property
    def closed(self) -> bool:
        return False

    def show(self, display: Display) -> None:
        """Prints to standard error: standard output may carry the JSON stream."""
        status = display.status
        if status.state.kind != "ended":
            with suppress(OSError):
                print(f"note: {status.source}: {status.state.words}", file=sys.stderr)

    def key(self) -> str | None:
        return None
