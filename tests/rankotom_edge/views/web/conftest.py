"""The real view and server, fed with displays made here, and a browser to look at the page."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from rankotom_edge.frame import Frame
from rankotom_edge.model.artifact import Artifact, load_artifact
from rankotom_edge.publish.prometheus import PrometheusSink
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.controls import Controls, toggle
from rankotom_edge.views.display import Display, Status
from rankotom_edge.views.web.address import Address, listen
from rankotom_edge.views.web.routes import Site
from rankotom_edge.views.web.view import WebView

TOKEN = "a-token-that-nobody-guesses"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Stage:
    """A web view in the hands of a test that plays the loop."""

    def __init__(
        self, artifact: Artifact, address: Address, video: bool = True, showing: Any = None
    ) -> None:
        """``showing`` makes the frame readings; None if none are shown."""
        card = artifact.card
        self.address, self.showing = address, showing
        self.port, self.url = address.port, f"http://127.0.0.1:{address.port}/"
        self.metrics = PrometheusSink(card.name, card.precision, artifact.sha256)
        site = Site(card, artifact.as_json(), self.metrics, video)
        self.view = WebView(address, site)
        self.controls = Controls()
        self.status: Status | None = None if showing is None else showing.status
        self.frames = 0

    def show(self, *readings: Reading) -> FrameReadings:
        """A frame goes through the loop: a new picture, these faces, and the keys."""
        made = self.showing.frame_readings(*readings)
        frame = Frame(made.frame.image, self.frames, self.frames / 30, time.monotonic())
        latest = replace(made, frame=frame)
        self.frames += 1
        self.metrics.write(latest)
        assert self.status is not None
        self.view.show(Display(latest, self.status, self.controls))
        while (key := self.view.key()) is not None:
            self.controls = toggle(self.controls, key)
        return latest

    def show_until(
        self, found: Callable[[], object], *readings: Reading, seconds: float = 30
    ) -> object:
        """Frame after frame, until it is so; the last answer."""
        ends = time.monotonic() + seconds
        while not (answer := found()):
            assert time.monotonic() < ends, "it did not come"
            self.show(*readings)
            time.sleep(0.03)
        return answer

    def ask(
        self,
        path: str,
        method: str = "GET",
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            endless = answer.length is None
            return Answer(answer.status, headers, b"" if endless else answer.read())
        finally:
            connection.close()

    def stream(self, path: str, headers: dict[str, str] | None = None) -> socket.socket:
        """A request whose answer has no end; the caller reads it, or does not."""
        reader = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        named = {"Host": f"127.0.0.1:{self.port}"} | (headers or {})
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {words}" for name, words in named.items())]
        reader.sendall("\r\n".join([*lines, "\r\n"]).encode())
        return reader

    def events(self, path: str, *readings: Reading, name: str | None = None) -> Iterator[Any]:
        """What a stream of events says, while frames go through the loop."""
        wanted = b"" if name is None else f"event: {name}\n".encode()
        with self.stream(path) as reader:
            reader.settimeout(0.02)
            heard, ends = b"", time.monotonic() + 20
            while time.monotonic() < ends:
                self.show(*readings)
                try:
                    heard += reader.recv(1 << 16)
                except TimeoutError:
                    continue
                *whole, heard = heard.split(b"\n\n")
                for event in whole:
                    head, found, data = event.partition(b"data: ")
                    if found and head.endswith(wanted):
                        yield json.loads(data)
        raise AssertionError(f"{path} went silent")


@pytest.fixture(scope="session")
def artifact() -> Artifact:
    return load_artifact("ferplus-fp32")


@pytest.fixture
def stage_on(artifact: Artifact, showing: Any) -> Iterator[Callable[..., Stage]]:
    opened: list[Stage] = []

    def make(address: Address, video: bool = True) -> Stage:
        opened.append(Stage(artifact, address, video, showing))
        return opened[-1]

    yield make
    for stage in opened:
        stage.view.close()


@pytest.fixture
def make_stage(stage_on: Callable[..., Stage]) -> Callable[..., Stage]:
    def make(port: int = 0, token: str | None = None, video: bool = True) -> Stage:
        return stage_on(replace(listen(port=port), token=token), video)

    return make


@pytest.fixture
def stage(make_stage: Callable[..., Stage]) -> Stage:
    return make_stage()


@pytest.fixture(scope="module")
def quiet(artifact: Artifact) -> Iterator[Stage]:
    """One for many tests, that shows nothing."""
    stage = Stage(artifact, listen(port=0))
    yield stage
    stage.view.close()


@pytest.fixture(scope="module")
def guarded(artifact: Artifact) -> Iterator[Stage]:
    """The same as on an address that other machines reach: with a token."""
    stage = Stage(artifact, replace(listen(port=0), token=TOKEN))
    yield stage
    stage.view.close()


@pytest.fixture
def token() -> str:
    return TOKEN
