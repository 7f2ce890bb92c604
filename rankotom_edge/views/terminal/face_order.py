"""The order of the faces on the terminal's page, and of the emotions of each: steady over time."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.readings.reading import Reading

# By track, in the order of arrival: the indexes of the emotions, highest first.
FaceOrder: TypeAlias = Mapping[int, Sequence[int]]

# An emotion moves up only when it leads by this much: without it, small bars that tremble would
# change places all the time. Chosen by eye.
LEAD = 0.02


def update_order(latest: FrameReadings | None, previous: FaceOrder) -> FaceOrder:
    """No face loses its place to one that came later. Of new faces, the largest come first."""
    if latest is None:
        return {}
    readings = {reading.track: reading for reading in latest.readings}
    known = [track for track in previous if track in readings]
    new = [track for track in readings if track not in previous]
    new.sort(key=lambda track: -readings[track].face.box[2] * readings[track].face.box[3])
    return {track: _rank(readings[track], previous.get(track)) for track in (*known, *new)}


def _rank(reading: Reading, previous: Sequence[int] | None) -> list[int]:
    shares = reading.probabilities.tolist()
    if previous is None:
        return sorted(range(len(shares)), key=lambda index: -round(100 * shares[index]))
    ranked: list[int] = []
    for index in previous:
        place = len(ranked)
        while place and shares[index] >= shares[ranked[place - 1]] + LEAD:
            place -= 1
        ranked.insert(place, index)
    return ranked
