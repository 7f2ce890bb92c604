"""Readings and markers for Lab Streaming Layer."""

from __future__ import annotations

import math
import os
import socket
import time
from collections.abc import Sequence
from pathlib import Path

import pylsl

from rankotom_edge.publish.markers import Markers
from rankotom_edge.publish.stream import Outgoing
from rankotom_edge.readings.reading import Reading

NAME, MARKERS = "rankotom-edge", "rankotom-edge-markers"
FACE_CHANNELS = (
    ("frame", "count"),
    ("faces", "count"),
    ("track", "number"),
    ("x", "pixels"),
    ("y", "pixels"),
    ("width", "pixels"),
    ("height", "pixels"),
    ("confidence", "share"),
    ("sure", "boolean"),
    ("quality", "share"),
)
# Hundreds of samples that wait for a recorder that does not read: liblsl drops the oldest.
MAX_BUFFERED = 60
CONFIG_FILES = (
    Path("lsl_api.cfg"),
    Path.home() / "lsl_api" / "lsl_api.cfg",
    Path("/etc/lsl_api/lsl_api.cfg"),
)
TRIES = 5  # at reading two clocks at once; chosen by eye
# liblsl reports connections on standard error, in the middle of the terminal view.
QUIET = "[log]\nlevel = -3\n"


class LslReceiver:
    name = "lsl"

    def __init__(self, labels: Sequence[str], source: str) -> None:
        """``source``: the name of the camera. A recorder finds the stream again by it."""
        if "LSLAPICFG" not in os.environ and not any(path.exists() for path in CONFIG_FILES):
            pylsl.set_config_content(QUIET)
        source_id = f"{NAME}:{socket.gethostname()}:{source}"
        channels = (*FACE_CHANNELS, *((label, "share") for label in labels))
        readings = pylsl.StreamInfo(
            NAME,
            "Expression",
            len(channels),
            pylsl.IRREGULAR_RATE,
            pylsl.cf_double64,
            source_id,
        )
        readings.set_channel_labels([label for label, _ in channels])
        readings.set_channel_units([unit for _, unit in channels])
        marked = pylsl.StreamInfo(
            MARKERS, "Markers", 1, pylsl.IRREGULAR_RATE, pylsl.cf_string, f"{source_id}:markers"
        )
        self._outlets: tuple[pylsl.StreamOutlet, ...] = tuple(
            pylsl.StreamOutlet(info, max_buffered=MAX_BUFFERED) for info in (readings, marked)
        )
        self._markers = Markers()
        self._probabilities = len(labels)

    @property
    def connected(self) -> bool:
        return any(outlet.have_consumers() for outlet in self._outlets)

    def send(self, outgoing: Outgoing) -> None:
        latest, (readings, marked) = outgoing.latest, self._outlets
        captured = in_lsl_clock(latest.frame.captured)
        head = [float(latest.frame.index), float(len(latest.readings))]
        nobody = [math.nan] * (len(FACE_CHANNELS) - len(head) + self._probabilities)
        for values in [_values(reading) for reading in latest.readings] or [nobody]:
            readings.push_sample([*head, *values], captured)
        for marker in self._markers.after(latest.readings, outgoing.drift):
            marked.push_sample([marker], captured)

    def idle(self) -> None:
        """Streams of irregular rate need no news."""

    def close(self) -> None:
        """pylsl closes an outlet when it is no longer used."""
        self._outlets = ()


def in_lsl_clock(monotonic: float) -> float:
    """Both clocks are read now. A pause of this thread between the two would move the result by as
    much, so of several tries the one with the shortest pause counts."""
    return monotonic + max(float(pylsl.local_clock()) - time.monotonic() for _ in range(TRIES))


def _values(reading: Reading) -> list[float]:
    return [
        float(reading.track),
        *(float(number) for number in reading.face.box),
        reading.confidence,
        float(reading.verdict == "sure"),
        float(reading.quality.score),
        *(float(share) for share in reading.probabilities),
    ]
