"""The keys of the live views, and the switches that they toggle."""

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
    absent: tuple[str, ...] = ()  # keys that do nothing here, as in a replay

    @property
    def keys(self) -> dict[str, str]:
        return {key: words for key, words in KEYS.items() if key not in self.absent}


# The help of every view, in this order, without the absent keys.
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


def toggle(controls: Controls, key: str) -> Controls:
    """A key without a switch changes nothing."""
    switch = _SWITCHES.get(key)
    if switch is None:
        return controls
    changed: dict[str, Any] = {switch: not getattr(controls, switch)}
    return replace(controls, **changed)
