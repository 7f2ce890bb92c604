"""Decides for window, terminal and web page alike which readings they show, which message if there
are none, and what the status line says."""

from dataclasses import dataclass
from urllib.parse import urlsplit

import numpy as np

from rankotom_edge.readings.reading import Reading, with_smoothing
from rankotom_edge.views.display import Display, Status
from rankotom_edge.views.wording import named_emotions

NO_FACE = "no face"
PAUSED = "paused: space goes on"
STILL = "a still picture, moved: not a live person"


@dataclass(frozen=True)
class Message:
    words: str
    attention: bool  # something is wrong, and the person should know


@dataclass(frozen=True)
class StatusLine:
    notice: str | None  # takes the place of all the rest but the flags
    quiet: tuple[str, ...]  # in grey, after the frame rate
    last: Message  # the source, or a drift
    flags: tuple[str, ...]  # the switches that are not in their usual position


def is_stale(display: Display) -> bool:
    """Whether the picture is no longer live, so that its faces may be gone."""
    return display.status.state.kind == "lost"


def shown_readings(display: Display) -> tuple[Reading, ...]:
    """By number; raw or smoothed, as the b key chose. None if the picture is stale."""
    if display.latest is None or is_stale(display):
        return ()
    smoothed = display.controls.smoothed
    readings = sorted(display.latest.readings, key=lambda reading: reading.track)
    return tuple(with_smoothing(reading, smoothed) for reading in readings)


def bars_shown(reading: Reading, count: int) -> list[int]:
    """The emotions that have a bar where there is room for ``count``: those of the headline, then
    the highest. In the model's order."""
    in_headline = [reading.labels.index(name) for name in (*named_emotions(reading), reading.top)]
    # Sorted by whole per cents: near zero the exact order changes at every frame.
    highest = np.argsort(-reading.probabilities.round(2), kind="stable").tolist()
    return sorted(list(dict.fromkeys((*in_headline, *highest)))[:count])


def picture_message(display: Display) -> Message | None:
    """What is written in the picture while there is no face to see.

    After the source has ended, the last photograph keeps its readings.
    """
    if is_stale(display):
        return source_words(display.status)
    if display.latest is None:
        if display.status.state.kind == "ended":
            return source_words(display.status)
        return Message(f"waiting for {display.status.source}", attention=False)
    return None if display.latest.readings else Message(NO_FACE, attention=False)


def status_line(display: Display) -> StatusLine:
    """A drift takes the place of model and source, so that it fits on a narrow line. A lost source
    matters more than a drift."""
    status, controls = display.status, display.controls
    source, drift = source_words(status), drift_words(status)
    if drift is not None and not source.attention:
        quiet: tuple[str, ...] = ()
        last = Message(drift, attention=True)
    else:
        quiet, last = tuple(filter(None, (model_words(status), dropped_words(status)))), source
    switches = (("raw", not controls.smoothed), (PAUSED, controls.paused))
    flags = tuple(name for name, on in switches if on)
    return StatusLine(status.notice, quiet, last, flags)


def frame_rate(status: Status) -> tuple[str, str]:
    """Frames a second, and milliseconds from capture to reading; a dash until they are known."""
    fps = "–" if status.fps is None else f"{status.fps:.0f}"
    milliseconds = "–" if status.latency_ms is None else f"{status.latency_ms:.0f}"
    return f"{fps} fps", f"{milliseconds} ms"


def model_words(status: Status) -> str:
    """The model, its precision unless its name contains that, and the user's own calibration."""
    words = status.model
    if status.precision not in words:
        words = f"{words} {status.precision}"
    return words if status.calibration is None else f"{words}, {status.calibration}"


def short_name(source: str) -> str:
    """A stream's machine in place of its address, so that what happened to it fits beside it."""
    return (urlsplit(source).hostname if "://" in source else None) or source


def source_words(status: Status) -> Message:
    if status.state.kind == "playing":
        remark = status.state.words.partition(": ")[2]
        words = f"{status.source}: {remark}" if remark else status.source
        return Message(words, attention=bool(remark))
    words = status.state.words or status.state.kind
    return Message(f"{short_name(status.source)}, {words}", status.state.kind == "lost")


def drift_words(status: Status) -> str | None:
    drift = status.drift
    if drift is None or drift.kind != "drifted":
        return None
    expired = "" if status.calibration is None else "; own calibration expired"
    return f"{drift.words}{expired}"


def dropped_words(status: Status) -> str:
    return f"{status.dropped:,} dropped" if status.dropped else ""
