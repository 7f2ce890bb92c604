"""The state of ``--mqtt``: a small message about once a second, for home automation."""

from __future__ import annotations

from rankotom_edge.publish.stream import Outgoing
from rankotom_edge.readings.reading import Reading

# Seconds, chosen by eye: a home server stores every state, so a changing one is sent at this rate,
# and one that stays the same this often.
CHANGED, SAME = 1.0, 10.0
UNSURE = "unsure"


def mqtt_state(outgoing: Outgoing | None, source: str, model: str) -> dict[str, object]:
    """``outgoing`` is None before the first frame and while the source is lost."""
    readings = () if outgoing is None else outgoing.latest.readings
    drift = None if outgoing is None else outgoing.drift
    nearest = max(readings, key=_area, default=None)
    return {
        "source": source,
        "model": model,
        "faces": len(readings),
        "expression": None if nearest is None else _named(nearest),
        "top": None if nearest is None else nearest.top,
        "confidence": None if nearest is None else round(nearest.confidence, 3),
        "verdict": None if nearest is None else nearest.verdict,
        "reason": None if nearest is None else nearest.reason,
        "track": None if nearest is None else nearest.track,
        "drift": None if drift is None else drift.kind,
        "drift_cause": None if drift is None else drift.cause,
    }


class StateClock:
    """Says when a state is due."""

    def __init__(self) -> None:
        self._sent: dict[str, object] | None = None
        self._at = 0.0

    def is_due(self, state: dict[str, object], now: float) -> bool:
        if self._sent is None:
            return True
        return now - self._at >= (SAME if state == self._sent else CHANGED)

    def sent(self, state: dict[str, object], now: float) -> None:
        self._sent, self._at = state, now

    def forget(self) -> None:
        """After a new connection: nobody has the last state."""
        self._sent = None


def _area(reading: Reading) -> float:
    _, _, width, height = reading.face.box
    return width * height


def _named(reading: Reading) -> str:
    """As on screen: an expression, a blend, or unsure."""
    if reading.verdict == "unsure":
        return UNSURE
    return reading.top if reading.blend is None else reading.blend.name
