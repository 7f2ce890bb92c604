"""The terminal view where there is no terminal: a line when what is read of a face changes.

For logs and pipes: a journal of a day stays short, and every line is whole.
"""

from __future__ import annotations

from typing import TextIO

from rankotom_edge.model.card import MeasuredModel
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.views.display import Display
from rankotom_edge.views.presenter import STILL, drift_words, source_words
from rankotom_edge.views.wording import headline

DRIFT_OVER = "confidence: the cause of the drift is gone"


class LinesView:
    closed = False
    shows_faces = True
    interactive = False

    def __init__(self, output: TextIO, model: MeasuredModel) -> None:
        self._output, self._reliability = output, Reliability(model.evaluation)
        self._said: dict[int, str] = {}
        self._source: tuple[str, ...] = ()
        self._drift: str | None = None

    def show(self, display: Display) -> None:
        status, latest = display.status, display.latest
        told, kind = source_words(status).words, status.state.kind
        # Of a lost one not each second of the countdown, nor each try.
        source = (kind,) if kind == "lost" else (kind, told)
        if source != self._source:
            self._source = source
            self._say(told + (f" ({STILL})" if status.still else ""))
        if drift_words(status) != self._drift:
            self._drift = drift_words(status)
            self._say(self._drift or DRIFT_OVER)
        if latest is None:
            return
        seen = {}
        for reading in latest.readings:
            words = headline(reading, self._reliability)
            seen[reading.track] = words.title
            if self._said.get(reading.track) != seen[reading.track]:
                said = " ".join(part for part in (words.title, words.number) if part)
                detail = f" ({words.detail})" if words.detail else ""
                self._say(f"{latest.frame.time:8.1f} s  face {reading.track}: {said}{detail}")
        for track in self._said.keys() - seen.keys():
            self._say(f"{latest.frame.time:8.1f} s  face {track}: gone")
        self._said = seen

    def key(self) -> str | None:
        return None

    def _say(self, line: str) -> None:
        self._output.write(f"{line}\n")
        self._output.flush()
