"""Whether readings are coming; if not, why."""

from typing import NamedTuple

from rankotom_edge.views.presenter import picture_message, source_words
from rankotom_edge.views.web.relay import Update

# Seconds, chosen by eye. The loop shows something twenty times a second, even without a frame;
# opening a camera again, or warming up a model, takes a second or two.
MAX_SILENCE = 5.0


class Health(NamedTuple):
    ok: bool
    words: str


def health(update: Update | None, now: float) -> Health:
    if update is None:
        return Health(False, "starting: nothing was read yet")
    stalled = stall_words(update, now)
    if stalled is not None:
        return Health(False, stalled)
    display = update.display
    if display.status.state.kind != "playing":
        return Health(False, source_words(display.status).words)
    if display.controls.paused:
        return Health(True, "paused")
    message = picture_message(display)
    if display.latest is None and message is not None:
        return Health(False, message.words)
    return Health(True, "frames come")


def stall_words(update: Update, now: float) -> str | None:
    """How long the loop has shown nothing, or a playing source has given no frame."""
    status, controls = update.display.status, update.display.controls
    if now - update.shown_at > MAX_SILENCE:
        return f"the program has stood still for {now - update.shown_at:.0f} s"
    if status.state.kind != "playing" or controls.paused or update.frame_at is None:
        return None
    if now - update.frame_at > MAX_SILENCE:
        return f"{status.source} gave no frame for {now - update.frame_at:.0f} s"
    return None
