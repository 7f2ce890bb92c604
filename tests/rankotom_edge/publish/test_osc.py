"""A real OSC server of python-osc hears what is sent."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from rankotom_edge.publish.stream import NotSentError, Outgoing

pytest.importorskip("pythonosc", reason="python-osc is not installed")
from rankotom_edge.publish.osc import MAX_FACES, OscReceiver, Places, bundles


class Heard:
    def __init__(self) -> None:
        from pythonosc.dispatcher import Dispatcher
        from pythonosc.osc_server import BlockingOSCUDPServer  # keeps the order

        self.messages: dict[str, list[Any]] = {}
        dispatcher = Dispatcher()
        dispatcher.set_default_handler(self._hear)
        self.server = BlockingOSCUDPServer(("127.0.0.1", 0), dispatcher)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def _hear(self, address: str, *values: Any) -> None:
        self.messages[address] = list(values)


@pytest.fixture
def heard() -> Iterator[Heard]:
    heard = Heard()
    yield heard
    heard.server.shutdown()
    heard.server.server_close()


def test_a_patch_hears_the_frame_and_every_face(heard: Heard, made: Any) -> None:
    blended = made.reading(17, "happiness", 0.6, second="surprise")
    with closing(OscReceiver("127.0.0.1", heard.port)) as receiver:
        frame = made.frame(blended, made.reading(20, "fear", 0.5, verdict="unsure"), index=5)
        receiver.send(Outgoing.of(frame, made.drift("light is low")))
        made.wait_until(lambda: "/rankotom/face/2/contempt" in heard.messages, "face 2")
        made.wait_until(lambda: "/rankotom/face/1/contempt" in heard.messages, "face 1")
        made.wait_until(lambda: "/rankotom/drift" in heard.messages, "the frame")
        said = dict(heard.messages)  # before the end, which says that nobody is there
    assert said["/rankotom/faces"] == [2]
    assert said["/rankotom/frame"] == [5, pytest.approx(5 / 30)]
    assert said["/rankotom/drift"] == [1]
    assert said["/rankotom/face/1/track"] == [17]
    assert said["/rankotom/face/1/expression"] == ["happiness"]
    assert said["/rankotom/face/1/blend"] == ["happily surprised"]
    assert said["/rankotom/face/1/confidence"] == [pytest.approx(0.6)]
    assert (said["/rankotom/face/1/sure"], said["/rankotom/face/2/sure"]) == ([1], [0])
    assert said["/rankotom/face/1/box"] == pytest.approx([200 / 640, 0.25, 120 / 640, 0.25])
    shares = [said[f"/rankotom/face/2/{label}"][0] for label in EMOTIONS]
    assert sum(shares) == pytest.approx(1, abs=1e-5)


def test_in_the_end_every_face_has_left(heard: Heard, made: Any) -> None:
    with closing(OscReceiver("127.0.0.1", heard.port)) as receiver:
        receiver.send(Outgoing.of(made.frame(made.reading(3), made.reading(4))))
        made.wait_until(lambda: "/rankotom/face/2/contempt" in heard.messages, "face 2")
    for place in (1, 2):
        address = f"/rankotom/face/{place}/present"
        made.wait_until(lambda: heard.messages[address] == [0], "the end")  # noqa: B023
    assert heard.messages["/rankotom/faces"] == [0]


def test_a_face_keeps_its_place_and_a_free_place_is_taken_again() -> None:
    places = Places()
    assert places.update([7, 9]) == ({7: 1, 9: 2}, [])
    assert places.update([9]) == ({9: 2}, [1])
    assert places.update([9, 12]) == ({9: 2, 12: 1}, [])
    assert places.update([12, 13]) == ({12: 1, 13: 2}, [])


def test_a_face_that_left_is_said_to_be_absent_once(made: Any) -> None:
    places = Places()

    def frame_messages(*readings: Any) -> dict[str, Any]:
        first = bundles(Outgoing.of(made.frame(*readings)), places)[0]
        return {message.address: message.params for message in first}

    frame_messages(made.reading(1))
    assert frame_messages()["/rankotom/face/1/present"] == [0]
    assert "/rankotom/face/1/present" not in frame_messages()


def test_a_crowd_is_as_many_packets_as_there_are_places_each_below_an_ethernet_frame(
    made: Any,
) -> None:
    crowd = [made.reading(track, second="surprise") for track in range(40)]
    sent = bundles(Outgoing.of(made.frame(*crowd)), Places())
    assert len(sent) == 1 + MAX_FACES
    assert max(len(bundle.dgram) for bundle in sent) < 1400


def test_nobody_listening_is_no_error_and_no_network_is_a_dropped_frame(made: Any) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with closing(OscReceiver("127.0.0.1", port)) as receiver:
        for _ in range(3):
            receiver.send(Outgoing.of(made.frame()))
    with closing(OscReceiver("255.255.255.255", 9)) as receiver, pytest.raises(NotSentError):
        receiver.send(Outgoing.of(made.frame()))  # broadcasting is not allowed


def test_a_host_that_does_not_exist_is_an_error_that_names_it() -> None:
    with pytest.raises(RankotomError, match=r"no-such-host\.invalid.*--osc"):
        OscReceiver("no-such-host.invalid", 9000)
