"""The terminal's page, as text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.sources import State
from rankotom_edge.views.controls import KEYS, Controls
from rankotom_edge.views.presenter import STILL


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (120, 30), (60, 20), (40, 12), (20, 5)])
@pytest.mark.parametrize("faces", [0, 1, 2, 3, 8, 70])
@pytest.mark.parametrize(
    "controls",
    [Controls(), Controls(help=True), Controls(reliability=True), Controls(crop=True)],
    ids=["plain", "help", "reliability", "crop"],
)
def test_a_page_never_outgrows_the_terminal(
    printed: Any, showing: Any, size: tuple[int, int], faces: int, controls: Controls
) -> None:
    readings = [showing.reading(track, happiness=0.6) for track in range(1, faces + 1)]
    lines = printed(showing.frame_readings(*readings), controls, size, picture=True)
    assert len(lines) == size[1]
    assert max(len(line) for line in lines) <= size[0]


def test_the_last_line_is_the_state(printed: Any, showing: Any) -> None:
    latest = showing.frame_readings(showing.reading(happiness=0.9))
    line = printed(latest, dropped=3)[-1]
    assert line.split() == [
        *("30", "fps", "12", "ms", "ferplus-fp32", "3", "dropped", "camera", "0", "h", "help")
    ]
    flags = printed(latest, Controls(paused=True, smoothed=False), recording="/tmp/x")[-1]
    assert flags.strip().endswith("raw  paused: space goes on  ● REC")
    assert printed(latest, notice="saved snapshot.png")[-1].strip() == "saved snapshot.png"


def test_a_still_a_loss_and_nobody_are_said_plainly(printed: Any, showing: Any) -> None:
    latest = showing.frame_readings(showing.reading(happiness=0.9))
    assert STILL in printed(latest, still=True)[-2]
    lost = "\n".join(printed(latest, state=State("lost", "lost: opening it again in 4 s")))
    assert lost.count("camera 0, lost: opening it again in 4 s") == 2
    assert "happiness" not in lost
    assert "no face" in "\n".join(printed(showing.frame_readings()))
    assert "waiting for camera 0" in "\n".join(printed(None))


def test_the_keys_show_help_diagram_crop_and_picture(
    printed: Any, showing: Any, reliability: Reliability
) -> None:
    latest = showing.frame_readings(showing.reading(happiness=0.9))
    helped = "\n".join(printed(latest, Controls(help=True)))
    for key, words in KEYS.items():
        assert (words in helped) is (key != "c")
    assert "a small picture" in helped
    diagram = "\n".join(printed(latest, Controls(reliability=True)))
    ece = reliability.evaluation.metrics["ece"].value
    assert f"ECE {100 * (ece or 0):.1f} %, 1,789 faces" in diagram
    assert "93–100" in diagram
    assert sum(line.count("▀") for line in printed(latest, Controls(crop=True))) == 24 * 12
    assert sum(line.count("▀") for line in printed(latest, picture=True)) == 38 * 14


@pytest.mark.parametrize("faces", [1, 3, 8])
@pytest.mark.parametrize(
    "controls",
    [Controls(help=True), Controls(reliability=True), Controls(crop=True)],
    ids=["help", "reliability", "crop"],
)
def test_on_60_columns_what_a_key_opens_leaves_every_reading(
    printed: Any, showing: Any, faces: int, controls: Controls
) -> None:
    readings = [showing.reading(track, happiness=0.83) for track in range(1, faces + 1)]
    page = "\n".join(printed(showing.frame_readings(*readings), controls, (60, 20)))
    assert page.count("83 %") == faces * (2 if faces < 8 else 1)
    assert "…" not in page


def test_the_boxes_of_several_faces_have_the_numbers_of_their_rows(
    printed: Any, showing: Any
) -> None:
    def numbers(*tracks: int) -> list[str]:
        readings = [
            replace(reading, face=replace(reading.face, box=(150 * place, 100, 90, 90)))
            for place, reading in enumerate(showing.reading(track, fear=0.9) for track in tracks)
        ]
        lines = printed(showing.frame_readings(*readings), picture=True)
        return re.findall(r"\d+", "".join(line[:39] for line in lines if "▀" in line))

    assert numbers(1, 12, 3) == ["1", "12", "3"]
    assert numbers(4) == []


def test_without_colours_a_picture_is_not_tried(printed: Any, showing: Any) -> None:
    latest = showing.frame_readings(showing.reading(happiness=0.9))
    page = "\n".join(printed(latest, picture=True, colours=False))
    assert "▀" not in page
    assert "no colours" in page


def test_an_ascii_terminal_gets_ascii(printed: Any, showing: Any) -> None:
    latest = showing.frame_readings(showing.reading(happiness=0.9))
    for controls in (Controls(), Controls(help=True), Controls(reliability=True)):
        page = "\n".join(printed(latest, controls, encoding="ascii", recording="x"))
        assert page.isascii()
    assert "#####" in page


def test_a_drift_is_whole_on_the_last_line_of_a_narrow_terminal(printed: Any, showing: Any) -> None:
    latest = showing.frame_readings(showing.reading(happiness=0.9))
    line = printed(latest, drift=showing.drifted, dropped=12)[-1]
    assert line.split("  ")[:3] == [" 30 fps", "12 ms", showing.drifted.words]
    assert printed(latest, drift=showing.steady)[-1] == printed(latest)[-1]
    lost = State("lost", "lost: opening it again in 3 s")
    assert "opening it again" in printed(latest, drift=showing.drifted, state=lost)[-1]


@pytest.mark.parametrize(
    ("size", "columns", "rows"),
    [((52, 20), 24, 9), ((60, 20), 32, 12), ((80, 24), 38, 14), ((200, 60), 76, 28)],
)
def test_the_picture_grows_with_the_terminal_and_leaves_the_bars(
    printed: Any, showing: Any, size: tuple[int, int], columns: int, rows: int
) -> None:
    lines = printed(showing.frame_readings(showing.reading(sadness=0.7)), size=size, picture=True)
    pictured = [line[1 : columns + 1].count("▀") for line in lines if line[1] == "▀"]
    assert pictured == [columns] * rows
    assert all(name in "\n".join(lines) for name in EMOTIONS)


def test_a_low_terminal_leaves_the_faces_what_its_picture_does_not_need(
    printed: Any, showing: Any
) -> None:
    lines = printed(
        showing.frame_readings(showing.reading(sadness=0.7)), size=(140, 13), picture=True
    )
    assert lines[1].count("▀") == 27
    assert len(lines[1].rstrip()) == 139


def test_a_narrow_page_keeps_the_bars_and_says_what_a_picture_needs(
    printed: Any, showing: Any
) -> None:
    latest = showing.frame_readings(showing.reading(sadness=0.7))
    lines = printed(latest, size=(51, 20), picture=True)
    assert "sadness" in "\n".join(lines)
    assert "▀" not in "\n".join(lines)
    assert lines[-1].split("  ")[0].strip() == "a picture needs 52 columns"
    noticed = printed(latest, size=(51, 20), picture=True, notice="saved snapshot.png")
    assert "saved snapshot.png" in noticed[-1]
    drifted = printed(latest, size=(80, 20), picture=True, drift=showing.drifted)
    assert showing.drifted.words in drifted[-1]
    colourless = printed(latest, size=(51, 20), picture=True, colours=False)
    assert "a picture needs colours" in colourless[-1]
    helped = printed(latest, Controls(help=True), size=(51, 20), picture=True)
    assert "a picture needs" not in helped[-1]


def test_while_nobody_is_there_a_narrow_page_is_for_the_picture(printed: Any, showing: Any) -> None:
    lines = printed(showing.frame_readings(), size=(40, 20), picture=True)
    assert max(line.count("▀") for line in lines) == 38
