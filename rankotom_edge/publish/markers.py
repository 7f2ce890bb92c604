"""Markers: when a blend or a drift began and ended."""

from __future__ import annotations

from collections.abc import Iterable

from rankotom_edge.readings.drift_monitor import DriftStatus
from rankotom_edge.readings.reading import Reading


class Markers:
    """Compares each frame with the one before."""

    def __init__(self) -> None:
        self._blends: dict[int, str] = {}
        self._drift: str | None = None

    def after(self, readings: Iterable[Reading], drift: DriftStatus | None) -> list[str]:
        """What began or ended with this frame."""
        blends = {
            reading.track: f"{reading.blend.first}+{reading.blend.second}"
            for reading in readings
            if reading.blend is not None
        }
        drifted = drift is not None and drift.kind == "drifted"
        cause = drift.cause if drift is not None and drifted else None
        markers = [
            f"blend end/{track}/{before}"
            for track, before in self._blends.items()
            if blends.get(track) != before
        ]
        markers += [
            f"blend begin/{track}/{now}"
            for track, now in blends.items()
            if self._blends.get(track) != now
        ]
        if cause != self._drift:
            markers += [] if self._drift is None else [f"drift end/{self._drift}"]
            markers += [] if cause is None else [f"drift begin/{cause}"]
        self._blends, self._drift = blends, cause
        return markers
