"""The switches of the live views: what is shown, and how a key changes it."""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Controls:
    paused: bool = False
    smoothed: bool = True
    evidence: bool = False  # the activation map over each face
    crop: bool = False  # the face as the network sees it
    reliability: bool = False  # the model's reliability diagram
    help: bool = False


# Every view shows this list, in this order, as its help.
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
    return replace(controls, **{switch: not getattr(controls, switch)})
