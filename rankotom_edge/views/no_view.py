"""No view: no keys, never closed, and nothing to see but that a source is lost, or back."""

import sys
from contextlib import suppress

from rankotom_edge.readings.frame_readings import FrameReadings, Status
from rankotom_edge.views.controls import Controls


class NoView:
    shows_faces = False
    closed = False
    interactive = False

    def show(self, moment: FrameReadings | None, status: Status, controls: Controls) -> None:
        """On standard error: standard output is for those who read the stream."""
        if status.state.kind != "ended":
            with suppress(OSError):
                print(f"note: {status.source}: {status.state.words}", file=sys.stderr)

    def key(self) -> str | None:
        return None
