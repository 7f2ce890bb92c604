"""Readings as OSC messages over UDP, for programs of artists and musicians."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress

from pythonosc.osc_bundle import OscBundle
from pythonosc.osc_bundle_builder import IMMEDIATELY, OscBundleBuilder
from pythonosc.osc_message_builder import OscMessageBuilder

from calib.errors import RankotomError
from rankotom_edge.publish.stream import NotSentError, Outgoing
from rankotom_edge.readings.reading import Reading

PREFIX = "/rankotom"
MAX_FACES = 16  # chosen by eye: more than a patch has room for

Value = str | int | float
Content = dict[str, list[Value]]  # by address


class Places:
    """A number from 1 for each face while it is there: a patch listens to /rankotom/face/1, and a
    track's own number only ever rises."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}

    def update(self, tracks: Iterable[int]) -> tuple[dict[int, int], list[int]]:
        """The place of each track, and the places that became free. More than ``MAX_FACES`` have
        none."""
        tracks = list(tracks)
        left = [place for track, place in self._places.items() if track not in tracks]
        self._places = {track: self._places[track] for track in tracks if track in self._places}
        for track in tracks:
            free = set(range(1, MAX_FACES + 1)) - set(self._places.values())
            if track not in self._places and free:
                self._places[track] = min(free)
        taken = self._places.values()
        return dict(self._places), sorted(place for place in left if place not in taken)


class OscReceiver:
    name = "osc"
    connected: bool | None = None  # UDP does not tell

    def __init__(self, host: str, port: int) -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
            family, kind, protocol, _, address = found[0]
            self._socket = socket.socket(family, kind, protocol)
        except (OSError, UnicodeError) as error:
            raise RankotomError(f"Cannot find {host!r}, where --osc would send: {error}.") from None
        self._address: tuple[object, ...] = address  # looked up once, and not for every packet
        self._socket.setblocking(False)
        self._places = Places()

    def send(self, outgoing: Outgoing) -> None:
        try:
            for bundle in bundles(outgoing, self._places):
                self._socket.sendto(bundle.dgram, self._address)
        except OSError as error:
            raise NotSentError from error

    def idle(self) -> None:
        """Nothing is due without a frame."""

    def close(self) -> None:
        """A patch would show the last faces forever."""
        _, left = self._places.update([])
        frame: Content = {"faces": [0], **{f"face/{place}/present": [0] for place in left}}
        with suppress(OSError):
            self._socket.sendto(_bundle(frame).dgram, self._address)
        self._socket.close()


def bundles(outgoing: Outgoing, places: Places) -> list[OscBundle]:
    """One for the frame and one for each face: each fits into one packet of any network."""
    latest, drift = outgoing.latest, outgoing.drift
    by_track, left = places.update(reading.track for reading in latest.readings)
    frame: Content = {
        "faces": [len(latest.readings)],
        "frame": [latest.frame.index, float(latest.frame.time)],
        "drift": [int(drift is not None and drift.kind == "drifted")],
    }
    for place in left:
        frame[f"face/{place}/present"] = [0]
    faces = (
        _face(f"face/{by_track[reading.track]}", reading, outgoing.size)
        for reading in latest.readings
        if reading.track in by_track
    )
    return [_bundle(content) for content in (frame, *faces)]


def _face(at: str, reading: Reading, size: tuple[int, int]) -> Content:
    x, y, width, height = (float(number) for number in reading.face.box)
    across, down = size
    content: Content = {
        f"{at}/present": [1],
        f"{at}/track": [reading.track],
        f"{at}/expression": [reading.top],
        f"{at}/blend": ["" if reading.blend is None else reading.blend.name],
        f"{at}/confidence": [reading.confidence],
        f"{at}/sure": [int(reading.verdict == "sure")],
        f"{at}/box": [x / across, y / down, width / across, height / down],
    }
    for label, share in zip(reading.labels, reading.probabilities, strict=True):
        content[f"{at}/{label}"] = [float(share)]
    return content


def _bundle(content: Content) -> OscBundle:
    bundle = OscBundleBuilder(IMMEDIATELY)
    for address, values in content.items():
        message = OscMessageBuilder(f"{PREFIX}/{address}")
        for value in values:
            message.add_arg(value)
        bundle.add_content(message.build())
    return bundle.build()
