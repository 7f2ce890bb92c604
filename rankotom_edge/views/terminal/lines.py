"""The terminal view without a terminal, for logs and pipes: a line when a reading changes."""

from typing import TextIO

from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.views.display import Display
from rankotom_edge.views.presenter import STILL, drift_words, source_words
from rankotom_edge.views.wording import headline

DRIFT_ENDED = "confidence: the cause of the drift is gone"


class LinesView:
    closed = False
    shows_faces = True
    interactive = False

    def __init__(self, output: TextIO, model: MeasuredModel) -> None:
        self._output, self._reliability = output, Reliability(model.evaluation)
        self._titles: dict[int, str] = {}
        self._source: tuple[str, ...] = ()
        self._drift: str | None = None

    def show(self, display: Display) -> None:
        status, latest = display.status, display.latest
        source_name, kind = source_words(status).words, status.state.kind
        # The words of a lost source count down the seconds and attempts: they are printed once.
        source = (kind,) if kind == "lost" else (kind, source_name)
        if source != self._source:
            self._source = source
            self._print(source_name + (f" ({STILL})" if status.still else ""))
        if drift_words(status) != self._drift:
            self._drift = drift_words(status)
            self._print(self._drift or DRIFT_ENDED)
        if latest is None:
            return
        titles = {}
        for reading in latest.readings:
            words = headline(reading, self._reliability)
            titles[reading.track] = words.title
            if self._titles.get(reading.track) != words.title:
                shown = " ".join(part for part in (words.title, words.number) if part)
                detail = f" ({words.detail})" if words.detail else ""
                self._print(f"{latest.frame.time:8.1f} s  face {reading.track}: {shown}{detail}")
        for track in self._titles.keys() - titles.keys():
            self._print(f"{latest.frame.time:8.1f} s  face {track}: gone")
        self._titles = titles

    def key(self) -> str | None:
        return None

    def _print(self, line: str) -> None:
        self._output.write(f"{line}\n")
        self._output.flush()
