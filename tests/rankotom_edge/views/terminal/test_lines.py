from __future__ import annotations

from io import StringIO
from typing import Any

from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.sources import State
from rankotom_edge.views.terminal.lines import LinesView


def test_a_line_is_written_when_what_is_read_of_a_face_changes(showing: Any) -> None:
    output = StringIO()
    view = LinesView(output, load_artifact("ferplus-fp32").card)
    for readings in (
        (),
        (showing.reading(happiness=0.9),),
        (showing.reading(happiness=0.93),),
        (showing.reading(happiness=0.52, surprise=0.31),),
        (showing.reading(happiness=0.4, reason="too dark"),),
        (),
    ):
        view.show(showing.display(showing.frame_readings(*readings)))
    lines = output.getvalue().splitlines()
    assert lines[0] == "camera 0"
    assert [line.partition("face 1: ")[2].partition(" (right")[0] for line in lines[1:]] == [
        "happiness 90 %",
        "happily surprised 52 + 31 (happiness and surprise)",
        "unsure (too dark: turn towards the light)",
        "gone",
    ]


def test_a_lost_source_is_said_once_and_not_for_every_second_of_its_countdown(showing: Any) -> None:
    output = StringIO()
    view = LinesView(output, load_artifact("ferplus-fp32").card)
    for attempt in ("third", "fourth"):
        for when in ("in 2 s", "in 1 s", "now"):
            words = f"lost: opening it again {when} ({attempt} try)"
            view.show(showing.display(None, state=State("lost", words)))
    view.show(showing.display(None))
    assert output.getvalue().splitlines() == [
        "camera 0, lost: opening it again in 2 s (third try)",
        "camera 0",
    ]


def test_a_remark_on_a_file_is_said_whatever_its_name_is(showing: Any) -> None:
    output = StringIO()
    view = LinesView(output, load_artifact("ferplus-fp32").card)
    for words in ("playing", "playing: the file breaks off"):
        state = State("playing", words)
        view.show(showing.display(None, source="a day in town.mp4", state=state))
    assert output.getvalue().splitlines()[-1] == "a day in town.mp4: the file breaks off"


def test_a_drift_is_said_once_and_so_is_its_end(showing: Any) -> None:
    output = StringIO()
    view = LinesView(output, load_artifact("ferplus-fp32").card)
    for drift in (None, showing.steady, showing.drifted, showing.drifted, showing.steady):
        for _ in range(2):
            view.show(showing.display(None, drift=drift))
    assert output.getvalue().splitlines() == [
        "camera 0",
        showing.drifted.words,
        "confidence: the cause of the drift is gone",
    ]
