"""Pages as a terminal of some size gets them."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.history import History
from rankotom_edge.views.terminal.page import render


class Printed:
    def __init__(self, showing: Any, reliability: Reliability) -> None:
        self._showing, self._reliability = showing, reliability

    def __call__(
        self,
        latest: FrameReadings | None,
        controls: Controls | None = None,
        size: tuple[int, int] = (80, 24),
        encoding: str = "utf-8",
        colours: bool = True,
        picture: bool = False,
        history: History | None = None,
        **status: Any,
    ) -> list[str]:
        file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
        console = Console(
            file=file,
            width=size[0],
            height=size[1],
            force_terminal=colours,
            color_system="truecolor" if colours else None,
        )
        page = render(
            replace(
                self._showing.display(latest, controls, **status), history=history or History()
            ),
            self._reliability,
            size,
            picture=picture,
            colours=colours,
        )
        lines = console.render_lines(page, pad=False)
        for segments in lines:  # that it can be encoded
            for segment in segments:
                segment.text.encode(encoding)
        return ["".join(segment.text for segment in segments) for segments in lines]


@pytest.fixture
def printed(showing: Any, reliability: Reliability) -> Printed:
    return Printed(showing, reliability)
