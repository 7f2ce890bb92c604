"""What the views say about a reading, in the same words.

They name the expression that is seen, never what a person feels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankotom_edge.model.reliability import Reliability
    from rankotom_edge.readings.reading import Reading

UNSURE = "unsure"
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
