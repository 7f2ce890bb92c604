"""What the page shows, in the words of the other views: JSON that it only has to lay out."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from rankotom_edge.model.reliability import Reliability, mark_of
from rankotom_edge.readings.reading import shown_as
from rankotom_edge.views.controls import KEYS
from rankotom_edge.views.palette import emotion_hex
from rankotom_edge.views.web.health import health
from rankotom_edge.views.wording import (
    MARKER,
    NO_FACE,
    STILL,
    dropped_words,
    headline,
    model_words,
    named,
    pace,
    percent,
    source_words,
)

if TYPE_CHECKING:
    from rankotom_edge.readings.frame_readings import Status
    from rankotom_edge.readings.reading import Reading
    from rankotom_edge.views.web.relay import Shown

# What the page does by itself, so that one person's help is not on everybody's screen.
OF_THE_PAGE = ("m", "h")
# Without pictures there is nothing to lay the evidence on, no crop, and no snapshot either.
OF_PICTURES = ("c", "v", "s")


def keys_of(video: bool) -> dict[str, str]:
    return {key: words for key, words in KEYS.items() if video or key not in OF_PICTURES}


def introduce(
    labels: Sequence[str], figures: Mapping[str, Any], seconds: int, video: bool
) -> dict[str, object]:
    """What stays the same while the program runs."""
    return {
        "labels": list(labels),
        "colours": [emotion_hex(labels, place) for place in range(len(labels))],
        "keys": keys_of(video) | {"q": "end the program"},
        "own_keys": list(OF_THE_PAGE),
        "marker": MARKER,
        "bins": [bin_ for bin_ in figures.get("bins", ()) if bin_["count"]],
        "ece": figures.get("ece"),
        "faces": figures.get("n"),
        "seconds": seconds,
        "video": video,
    }


def tell(
    shown: Shown | None, reliability: Reliability, video: bool, now: float
) -> dict[str, object]:
    if shown is None:
        return {"message": {"words": "starting", "attention": False}}
    return {
        "faces": [
            _face(shown_as(reading, shown.controls.smoothed), reliability, video, shown)
            for reading in _in_sight(shown)
        ],
        "message": _message(shown, now),
        "size": None if shown.moment is None else list(shown.moment.frame.image.shape[1::-1]),
        "status": _status(shown.status),
        "controls": asdict(shown.controls),
    }


def _in_sight(shown: Shown) -> tuple[Reading, ...]:
    """None of a picture that is no longer live: its faces may be gone."""
    if shown.moment is None or shown.status.state.kind == "lost":
        return ()
    return shown.moment.readings


def _face(
    reading: Reading, reliability: Reliability, video: bool, shown: Shown
) -> dict[str, object]:
    words = headline(reading, reliability)
    seen: dict[str, object] = {
        "track": reading.track,
        "title": words.title,
        "number": words.number,
        "detail": words.detail,
        "verdict": reading.verdict,
        "named": [reading.labels.index(name) for name in named(reading)],
        "top": int(reading.probabilities.argmax()),
        "shares": np.round(reading.probabilities, 4).tolist(),
        "percents": [percent(float(share)) for share in reading.probabilities],
        "right": [mark_of(reliability, reading, place) for place in range(len(reading.labels))],
    }
    if video and shown.controls.crop and reading.crop is not None:
        seen["crop"] = {
            "size": reading.crop.shape[-1],
            "channels": len(reading.crop),
            "pixels": base64.b64encode(reading.crop.tobytes()).decode(),
        }
    return seen


def _message(shown: Shown, now: float) -> dict[str, object] | None:
    """What to say while there is no face to see. The last of some photographs stays as it is."""
    state = health(shown, now)
    over = shown.status.state.kind == "ended" and shown.moment is not None
    if not state.ok and not over:
        waiting = shown.moment is None and shown.status.state.kind == "playing"
        return {"words": state.words, "attention": not waiting}
    if _in_sight(shown):
        return None
    return {"words": NO_FACE, "attention": False}


def _status(status: Status) -> dict[str, object]:
    words, attention = source_words(status)
    fps, latency = pace(status)
    return {
        "source": words,
        "attention": attention,
        "fps": fps,
        "latency": latency,
        "dropped": dropped_words(status),
        "model": model_words(status),
        "recording": status.recording,
        "still": STILL if status.still else None,
        "notice": status.notice,
        "drift": None if status.drift is None else status.drift.as_json(),
    }
