"""What the window and the terminal say, in the same words.

They name the expression that is seen, never what a person feels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankotom_edge.model.reliability import Reliability
    from rankotom_edge.readings.frame_readings import Status
    from rankotom_edge.readings.reading import Reading

UNSURE = "unsure"
NO_FACE = "no face"
STILL = "a still picture, moved: not a live person"
MARKER = "how often a bar of that height was right"


@dataclass(frozen=True)
class Headline:
    title: str  # the expression, the blend, or "unsure"
    number: str  # "83 %", "52 + 31", or nothing
    detail: str  # what the number is worth, what the blend is made of, or why it is unsure


def headline(reading: Reading, reliability: Reliability) -> Headline:
    if reading.verdict == "unsure":
        return Headline(UNSURE, "", reading.reason or "")
    blend = reading.blend
    if blend is not None:
        first, second = round(100 * blend.first_share), round(100 * blend.second_share)
        parts = f"{blend.first} {first} + {blend.second} {second}"
        return Headline(blend.name, f"{first} + {second}", parts)
    confidence = reading.confidence
    return Headline(reading.top, percent(confidence), worth(confidence, reliability))


def named(reading: Reading) -> tuple[str, ...]:
    """The emotions in the headline."""
    if reading.verdict == "unsure":
        return ()
    blend = reading.blend
    return (reading.top,) if blend is None else (blend.first, blend.second)


def worth(confidence: float, reliability: Reliability) -> str:
    right = reliability.at(confidence)
    return "" if right is None else f"right {round(100 * right)} times in 100"


def percent(share: float) -> str:
    """Never 100 %: no confidence here is worth that."""
    return ">99 %" if share > 0.995 else f"{round(100 * share)} %"


def pace(status: Status) -> tuple[str, str]:
    """Frames a second, and milliseconds from capture to reading; a dash until they are known."""
    fps = "–" if status.fps is None else f"{status.fps:.0f}"
    milliseconds = "–" if status.latency_ms is None else f"{status.latency_ms:.0f}"
    return f"{fps} fps", f"{milliseconds} ms"


def model_words(status: Status) -> str:
    """The model and its precision, once where its name says it already."""
    if status.precision in status.model:
        return status.model
    return f"{status.model} {status.precision}"


def source_words(status: Status) -> tuple[str, bool]:
    """The source and its state, and whether that state needs attention."""
    if status.state.kind == "playing":
        remark = status.state.words.partition(": ")[2]
        return (f"{status.source}: {remark}", True) if remark else (status.source, False)
    words = status.state.words or status.state.kind
    return f"{status.source}, {words}", status.state.kind == "lost"


def drift_words(status: Status) -> str | None:
    """None where there is nothing to say of it."""
    drift = status.drift
    return drift.words if drift is not None and drift.kind == "drifted" else None


def foot_words(status: Status) -> tuple[tuple[str, ...], str, bool]:
    """What is told quietly after the pace, what is told last, and whether that needs attention.

    A drift takes the place of what never changes, so that it is whole on a narrow line; a lost
    source is worse.
    """
    source, attention = source_words(status)
    drifted = drift_words(status)
    if drifted is not None and not attention:
        return (), drifted, True
    return tuple(filter(None, (model_words(status), dropped_words(status)))), source, attention


def dropped_words(status: Status) -> str:
    return f"{status.dropped:,} dropped" if status.dropped else ""
