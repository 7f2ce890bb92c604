"""The switches of the live views: what is shown, and how a key changes it."""

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Controls:
    paused: bool = False
    smoothed: bool = True
    evidence: bool = False  # the activation map over each face
    crop: bool = False  # the face as the network sees it
    reliability: bool = False  # the model's reliability diagram
    help: bool = False
    absent: tuple[str, ...] = ()  # keys that can do nothing here

    @property
    def keys(self) -> dict[str, str]:
        return {key: words for key, words in KEYS.items() if key not in self.absent}


# Every view shows this list, in this order, as its help, but for those absent.
KEYS = {
    "q": "quit (or Esc)",
    "space": "pause",
    "s": "save a snapshot",
    "r": "record, or stop recording",
    "b": "raw or smoothed bars",
    "c": "where the evidence is",
    "v": "the face as the network sees it",
    "m": "how reliable the model is",
    "h": "this help",
}

_SWITCHES = {
    "space": "paused",
    "b": "smoothed",
    "c": "evidence",
    "v": "crop",
    "m": "reliability",
    "h": "help",
}


def pressed(controls: Controls, key: str) -> Controls:
    """A key that is no switch changes nothing."""
    switch = _SWITCHES.get(key)
    if switch is None:
        return controls
    changed: dict[str, Any] = {switch: not getattr(controls, switch)}
    return replace(controls, **changed)
