"""A receiver that stalls, dies or was never there costs the loop nothing but a count."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from rankotom_edge.publish.stream import QUEUE, NotSentError, Outgoing, Stream


class Listed:
    """A receiver that keeps what it gets, once it may."""

    name, connected = "listed", None

    def __init__(self) -> None:
        self.got: list[Outgoing] = []
        self.may_read, self.reads = threading.Event(), threading.Event()
        self.may_read.set()
        self.idled = threading.Event()
        self.closed = False

    def send(self, outgoing: Outgoing) -> None:
        self.reads.set()
        self.may_read.wait()
        self.got.append(outgoing)

    def idle(self) -> None:
        self.idled.set()

    def close(self) -> None:
        self.closed = True


def test_every_frame_arrives_in_order_before_the_run_ends(made: Any) -> None:
    receiver = Listed()
    with Stream(receiver) as stream:
        for index in range(QUEUE):
            stream.write(made.frame(index=index))
    assert [one.latest.frame.index for one in receiver.got] == list(range(QUEUE))
    assert (stream.sent, stream.dropped, receiver.closed) == (QUEUE, 0, True)
    assert stream.words == "listed: 64 frames sent"


def test_a_receiver_that_does_not_read_loses_the_oldest_frames_and_delays_nothing(
    made: Any,
) -> None:
    """It reads again only after the last write: a loop that waited for it would wait forever."""
    receiver = Listed()
    receiver.may_read.clear()
    with Stream(receiver) as stream:
        stream.write(made.frame(index=0))
        assert receiver.reads.wait(60)
        for index in range(1, 1001):
            stream.write(made.frame(index=index))
        assert stream.dropped == 1000 - QUEUE
        receiver.may_read.set()
    kept = [one.latest.frame.index for one in receiver.got]
    assert kept == [0, *range(1001 - QUEUE, 1001)]
    assert stream.sent == 1 + QUEUE


def test_what_a_receiver_cannot_take_is_counted(made: Any) -> None:
    class Absent(Listed):
        def send(self, outgoing: Outgoing) -> None:
            raise NotSentError

    with Stream(Absent()) as stream:
        for index in range(3):
            stream.write(made.frame(index=index))
    assert stream.words == "listed: 0 frames sent, 3 dropped"


def test_a_run_ends_although_a_receiver_blocks(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankotom_edge.publish.stream.JOIN_SECONDS", 0.1)
    receiver = Listed()
    receiver.may_read.clear()
    with Stream(receiver) as stream:
        stream.write(made.frame())
    assert not receiver.closed
    receiver.may_read.set()


def test_pictures_do_not_wait_in_the_queue_but_their_size_and_the_drift_are_known(
    made: Any,
) -> None:
    receiver = Listed()
    with Stream(receiver, lambda: made.drift("light is low")) as stream:
        stream.write(made.frame(made.reading(), index=7, captured=3.5))
    (outgoing,) = receiver.got
    assert outgoing.size == (640, 480)
    assert outgoing.latest.frame.image.size == 0
    assert (outgoing.latest.frame.index, outgoing.latest.frame.captured) == (7, 3.5)
    assert outgoing.drift == made.drift("light is low")


def test_a_receiver_is_asked_for_news_while_no_frame_comes() -> None:
    receiver = Listed()
    with Stream(receiver):
        assert receiver.idled.wait(60)
