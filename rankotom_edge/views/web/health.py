"""Whether readings come; if not, why."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rankotom_edge.views.wording import source_words

if TYPE_CHECKING:
    from rankotom_edge.views.web.relay import Shown

# The loop shows something twenty times a second, also without a frame; a camera that is opened
# again, or a model that warms up, takes a second or two.
LONGEST = 5.0


class Health(NamedTuple):
    ok: bool
    words: str


def health(shown: Shown | None, now: float) -> Health:
    if shown is None:
        return Health(False, "starting: nothing was read yet")
    if now - shown.at > LONGEST:
        return Health(False, f"the program has stood still for {now - shown.at:.0f} s")
    if shown.status.state.kind != "playing":
        return Health(False, source_words(shown.status)[0])
    if shown.controls.paused:
        return Health(True, "paused")
    if shown.came is None:
        return Health(False, f"waiting for {shown.status.source}")
    if now - shown.came > LONGEST:
        return Health(False, f"{shown.status.source} gave no frame for {now - shown.came:.0f} s")
    return Health(True, "frames come")
