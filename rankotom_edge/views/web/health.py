"""Whether readings are coming; if not, why."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rankotom_edge.views.presenter import picture_message, source_words

if TYPE_CHECKING:
    from rankotom_edge.views.web.relay import Shown

# The loop shows something twenty times a second, even without a frame. Opening a camera again, or
# warming up a model, takes a second or two.
LONGEST = 5.0


class Health(NamedTuple):
    ok: bool
    words: str


def health(shown: Shown | None, now: float) -> Health:
    if shown is None:
        return Health(False, "starting: nothing was read yet")
    stalled = stall_words(shown, now)
    if stalled is not None:
        return Health(False, stalled)
    display = shown.display
    if display.status.state.kind != "playing":
        return Health(False, source_words(display.status).words)
    if display.controls.paused:
        return Health(True, "paused")
    message = picture_message(display)
    if display.latest is None and message is not None:
        return Health(False, message.words)
    return Health(True, "frames come")


def stall_words(shown: Shown, now: float) -> str | None:
    """How long nothing has come from the loop, or from a source that should be playing."""
    status = shown.display.status
    if now - shown.at > LONGEST:
        return f"the program has stood still for {now - shown.at:.0f} s"
    if status.state.kind != "playing" or shown.display.controls.paused or shown.came is None:
        return None
    if now - shown.came > LONGEST:
        return f"{status.source} gave no frame for {now - shown.came:.0f} s"
    return None
