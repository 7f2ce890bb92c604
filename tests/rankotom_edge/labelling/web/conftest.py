"""Labelling in the browser as the command runs it, in a thread."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from calib.errors import RankotomError
from rankotom_edge.labelling.label_file import read_labels
from rankotom_edge.labelling.labelling import open_labelling
from rankotom_edge.labelling.web.label import label_in_browser
from rankotom_edge.views.web.address import listen

TOKEN = "a-token-that-nobody-guesses"
NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Run:
    """One rater's labelling, from its start until it goes on."""

    def __init__(
        self, path: Path, faces: list[Any], model: Any, name: str, token: str | None, port: int
    ) -> None:
        self.path, self._faces, self._model, self._name = path, faces, model, name
        self._address = replace(listen(port=port), token=token)
        self.port, self.url = self._address.port, f"http://127.0.0.1:{self._address.port}/"
        self._token = {} if token is None else {"Authorization": f"Bearer {token}"}
        self.links: list[str] = []
        self.error: RankotomError | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._label)
        self._thread.start()
        assert self._ready.wait(20)

    def _label(self) -> None:
        try:
            with open_labelling(
                self.path, self._faces, self._model, self._name, enough=5, clock=lambda: NOON
            ) as self.labelling:
                label_in_browser(self.labelling, self._address, self._announce)
        except RankotomError as error:
            self.error = error

    def _announce(self, link: str) -> None:
        self.links.append(link)
        self._ready.set()

    def ask(self, path: str, method: str = "GET", headers: dict[str, str] | None = None) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    @property
    def state(self) -> Any:
        return self.ask("/api/labelling", headers=self._token).json

    def press(self, key: str, state: Any = None) -> Answer:
        """As a page would that shows this state; by default the newest."""
        state = state or self.state
        path = f"/api/labelling/{state['run']}/{state['number']}/{key}"
        return self.ask(path, "POST", self._token)

    @property
    def labels(self) -> list[str | None]:
        return [label.expression for label in read_labels(self.path)]

    def ended(self, seconds: float = 20) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def end(self) -> None:
        if self._thread.is_alive():
            self.press("q")
        assert self.ended()


class Program:
    """The same in a process that a test may kill."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        self.place = urlsplit(self.url).netloc

    def ask(self, path: str = "", method: str = "GET") -> Any:
        connection = http.client.HTTPConnection(self.place, timeout=20)
        try:
            connection.request(method, f"/api/labelling{path}")
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def press(self, key: str) -> Any:
        state = self.ask()
        return self.ask(f"/{state['run']}/{state['number']}/{key}", "POST")


@pytest.fixture
def open_program(program: list[str], tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """Labels ``count`` faces into the same file as ``start``, in a process of its own."""
    opened: list[Program] = []

    def open_one(count: int, before: tuple[str, ...] = ()) -> Program:
        labels = str(tmp_path / "labels.jsonl")
        opened.append(Program([*before, *program, labels, "Anna", str(count), "0"]))
        return opened[-1]

    yield open_one
    for each in opened:
        each.process.kill()
        each.process.communicate()


@pytest.fixture
def start(
    tmp_path: Path, faces: Callable[[int], list[Any]], model: Any
) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def start_one(
        shown: int | list[Any] = 6, name: str = "Anna", token: str | None = None, port: int = 0
    ) -> Run:
        """``shown``: the faces, or how many of the portrait."""
        listed = faces(shown) if isinstance(shown, int) else shown
        runs.append(Run(tmp_path / "labels.jsonl", listed, model, name, token, port))
        return runs[-1]

    yield start_one
    for run in runs:
        run.end()


@pytest.fixture
def token() -> str:
    return TOKEN
