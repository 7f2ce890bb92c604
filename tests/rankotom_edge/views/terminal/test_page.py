"""The terminal's page, as text."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from calib.emotions import EMOTIONS
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.readings.reading import Reading
from rankotom_edge.sources import State
from rankotom_edge.views.controls import KEYS, Controls
from rankotom_edge.views.presenter import STILL
from rankotom_edge.views.terminal.face_order import FaceOrder, update_order
from rankotom_edge.views.terminal.page import render


class Printed:
    """Pages as a terminal of some size gets them."""

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
        order: FaceOrder | None = None,
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
            self._showing.display(latest, controls, **status),
            self._reliability,
            size,
            order=update_order(latest, {}) if order is None else order,
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


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (120, 30), (60, 20), (40, 12), (20, 5)])
@pytest.mark.parametrize("faces", [0, 1, 2, 3, 8, 70])
@pytest.mark.parametrize(
    "controls",
    [Controls(), Controls(help=True), Controls(reliability=True), Controls(crop=True)],
    ids=["plain", "help", "reliability", "crop"],
)
def test_a_page_never_outgrows_the_terminal(
    printed: Printed, showing: Any, size: tuple[int, int], faces: int, controls: Controls
) -> None:
    readings = [showing.reading(track, happiness=0.6) for track in range(1, faces + 1)]
    lines = printed(showing.frame_readings(*readings), controls, size, picture=True)
    assert len(lines) == size[1]
    assert max(len(line) for line in lines) <= size[0]


def test_a_face_has_a_bar_for_each_emotion_in_the_order_of_the_model(
    printed: Printed, showing: Any, reliability: Reliability
) -> None:
    lines = printed(showing.frame_readings(showing.reading(sadness=0.7, anger=0.1)))
    page = "\n".join(lines)
    assert "sadness" in lines[1]
    assert "70 %" in lines[1]
    right = reliability.at(0.7)
    assert right is not None
    assert f"right {100 * right:.0f} times in 100" in lines[2]
    bars = lines[3 : 3 + len(EMOTIONS)]
    assert [line.split()[0] for line in bars] == list(EMOTIONS)
    longest = max(bars, key=lambda line: line.count("▇"))
    assert longest.split()[0] == "sadness"
    assert longest.count("┃") == page.count("┃") == 1  # the mark of the highest bar
    assert page.count("│") == len(EMOTIONS) - 1  # and of each other one


def test_the_bar_is_as_long_as_the_share(printed: Printed, showing: Any) -> None:
    lengths = [
        sum(
            line.count("▇")
            for line in printed(showing.frame_readings(showing.reading(**{name: share})))
        )
        for name, share in (("fear", 0.4), ("fear", 0.8))
    ]
    assert lengths[0] < lengths[1]


def numbers(lines: list[str]) -> list[int]:
    """Of the faces whose headlines are on the page."""
    return [int(number) for line in lines for number in re.findall(r"(\d+) happiness", line)]


def of_size(reading: Reading, side: float) -> Reading:
    x, y, _, _ = reading.face.box
    return replace(reading, face=replace(reading.face, box=(x, y, side, side)))


def test_faces_stand_side_by_side_and_the_largest_come_first(
    printed: Printed, showing: Any
) -> None:
    three = [showing.reading(track, happiness=0.9) for track in (1, 2, 3)]
    assert printed(showing.frame_readings(*three))[1].count("happiness") == 3
    many = [showing.reading(track, happiness=0.9) for track in range(1, 10)]
    page = printed(showing.frame_readings(*many), size=(30, 6))
    assert numbers(page) == [6, 7, 8, 9]  # a later track's face is larger here
    assert page[0].strip() == "+5 more faces"


@pytest.mark.parametrize(
    ("size", "bars"),
    [((80, 24), 8), ((60, 20), 7), ((40, 12), 1), ((40, 10), 0), ((40, 4), None)],
)
def test_each_face_is_cut_down_to_its_headline_before_one_is_left_out(
    printed: Printed, showing: Any, size: tuple[int, int], bars: int | None
) -> None:
    three = [showing.reading(track, happiness=0.9) for track in (1, 2, 3)]
    page = printed(showing.frame_readings(*three), size=size)
    assert numbers(page) == [1, 2, 3]
    assert "more" not in "\n".join(page)
    assert "\n".join(page).count("times in 100") == (0 if bars is None else 3)
    assert sum(line.count("┃") + line.count("│") for line in page) == 3 * (bars or 0)


def test_a_line_tells_of_faces_only_where_it_could_not_show_them(
    printed: Printed, showing: Any
) -> None:
    readings = [showing.reading(track, happiness=0.9) for track in range(1, 7)]
    assert numbers(printed(showing.frame_readings(*readings[:5]), size=(30, 6))) == [1, 2, 3, 4, 5]
    assert printed(showing.frame_readings(*readings), size=(30, 6))[0].strip() == "+2 more faces"
    assert numbers(printed(showing.frame_readings(*readings), size=(30, 2))) == [6]


def test_an_unsure_headline_alone_still_says_why(printed: Printed, showing: Any) -> None:
    readings = [showing.reading(track, reason="blurred", happiness=0.5) for track in (1, 2, 3)]
    page = printed(showing.frame_readings(*readings), size=(40, 4))
    assert [line.strip() for line in page[:3]] == [
        f"{track} unsure: blurred" for track in (1, 2, 3)
    ]


def test_one_face_has_all_its_bars_where_they_just_fit(printed: Printed, showing: Any) -> None:
    page = printed(
        showing.frame_readings(showing.reading(happiness=0.9)), size=(40, 12), still=True
    )
    assert [line.split()[0] for line in page[2:10]] == list(EMOTIONS)


def test_who_is_shown_stays_while_they_are_there(printed: Printed, showing: Any) -> None:
    near, far = 130, 120
    readings = [showing.reading(track, happiness=0.9) for track in range(1, 7)]
    first = showing.frame_readings(
        *(of_size(reading, near - reading.track) for reading in readings)
    )
    second = showing.frame_readings(
        *(of_size(reading, far + reading.track) for reading in readings)
    )
    order = update_order(first, {})
    for latest in (first, second, first, second):
        order = update_order(latest, order)
        assert numbers(printed(latest, size=(30, 6), order=order)) == [1, 2, 3, 4]
    without = showing.frame_readings(*(reading for reading in readings if reading.track != 2))
    order = update_order(without, order)
    assert list(order) == [1, 3, 4, 5, 6]
    order = update_order(second, order)
    assert numbers(printed(second, size=(30, 6), order=order)) == [1, 3, 4, 5]


def test_the_rows_of_a_shortened_face_stay_while_small_bars_tremble(
    printed: Printed, showing: Any
) -> None:
    def rows(order: FaceOrder) -> list[str]:
        page = printed(latest, size=(40, 6), order=order)
        return [line.split()[0] for line in page[2:5]]

    order: FaceOrder = {}
    for fear, contempt in ((0.016, 0.014), (0.014, 0.016), (0.016, 0.014), (0.012, 0.022)):
        shares = {"happiness": 0.9, "neutral": 0.05, "fear": fear, "contempt": contempt}
        latest = showing.frame_readings(showing.reading(**shares))
        order = update_order(latest, order)
        assert rows(order) == ["neutral", "happiness", "fear"]
    latest = showing.frame_readings(showing.reading(happiness=0.85, neutral=0.05, contempt=0.08))
    order = update_order(latest, order)
    assert rows(order) == ["neutral", "happiness", "contempt"]


def test_a_bar_of_the_headline_is_shown_however_little_it_is_ahead(
    printed: Printed, showing: Any
) -> None:
    before = update_order(showing.frame_readings(showing.reading(happiness=0.45, fear=0.44)), {})
    latest = showing.frame_readings(showing.reading(happiness=0.44, fear=0.45))
    page = printed(latest, size=(40, 4), order=update_order(latest, before))
    assert page[2].split()[0] == "fear"


def test_a_blend_names_both_and_their_shares(printed: Printed, showing: Any) -> None:
    page = printed(showing.frame_readings(showing.reading(happiness=0.52, surprise=0.31)))
    assert "happily surprised" in page[1]
    assert "52 + 31" in page[1]
    assert "happiness 52 + surprise 31" in page[2]


def test_unsure_says_why(printed: Printed, showing: Any) -> None:
    page = printed(showing.frame_readings(showing.reading(happiness=0.5, reason="turned away")))
    assert page[1].split() == ["unsure"]
    assert "turned away" in page[2]


def test_the_last_line_is_the_state(printed: Printed, showing: Any) -> None:
    latest = showing.frame_readings(showing.reading(happiness=0.9))
    line = printed(latest, dropped=3)[-1]
    assert line.split() == [
        *("30", "fps", "12", "ms", "ferplus-fp32", "3", "dropped", "camera", "0", "h", "help")
    ]
    flags = printed(latest, Controls(paused=True, smoothed=False), recording="/tmp/x")[-1]
    assert flags.split()[-4:] == ["raw", "paused", "●", "REC"]
    assert printed(latest, notice="saved snapshot.png")[-1].strip() == "saved snapshot.png"


def test_a_still_a_loss_and_nobody_are_said_plainly(printed: Printed, showing: Any) -> None:
    latest = showing.frame_readings(showing.reading(happiness=0.9))
    assert STILL in printed(latest, still=True)[-2]
    lost = "\n".join(printed(latest, state=State("lost", "lost: opening it again in 4 s")))
    assert lost.count("camera 0, lost: opening it again in 4 s") == 2
    assert "happiness" not in lost
    assert "no face" in "\n".join(printed(showing.frame_readings()))
    assert "waiting for camera 0" in "\n".join(printed(None))


def test_the_keys_show_help_diagram_crop_and_picture(
    printed: Printed, showing: Any, reliability: Reliability
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


def test_without_colours_a_picture_is_not_tried(printed: Printed, showing: Any) -> None:
    latest = showing.frame_readings(showing.reading(happiness=0.9))
    page = "\n".join(printed(latest, picture=True, colours=False))
    assert "▀" not in page
    assert "no colours" in page


def test_an_ascii_terminal_gets_ascii(printed: Printed, showing: Any) -> None:
    latest = showing.frame_readings(showing.reading(happiness=0.9))
    for controls in (Controls(), Controls(help=True), Controls(reliability=True)):
        page = "\n".join(printed(latest, controls, encoding="ascii", recording="x"))
        assert page.isascii()
    assert "#####" in page


def test_a_drift_is_whole_on_the_last_line_of_a_narrow_terminal(
    printed: Printed, showing: Any
) -> None:
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
    printed: Printed, showing: Any, size: tuple[int, int], columns: int, rows: int
) -> None:
    lines = printed(showing.frame_readings(showing.reading(sadness=0.7)), size=size, picture=True)
    pictured = [line.count("▀") for line in lines if "▀" in line]
    assert pictured == [columns] * rows
    assert all(name in "\n".join(lines) for name in EMOTIONS)


def test_a_low_terminal_leaves_the_faces_what_its_picture_does_not_need(
    printed: Printed, showing: Any
) -> None:
    lines = printed(
        showing.frame_readings(showing.reading(sadness=0.7)), size=(140, 13), picture=True
    )
    assert lines[1].count("▀") == 27
    assert len(lines[1].rstrip()) == 1 + 27 + 2 + 76


def test_a_narrow_page_keeps_the_bars_and_says_what_a_picture_needs(
    printed: Printed, showing: Any
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


def test_while_nobody_is_there_a_narrow_page_is_for_the_picture(
    printed: Printed, showing: Any
) -> None:
    lines = printed(showing.frame_readings(), size=(40, 20), picture=True)
    assert max(line.count("▀") for line in lines) == 38


def test_a_blend_in_a_narrow_column_tells_its_numbers_whole(printed: Printed, showing: Any) -> None:
    readings = [showing.reading(track, neutral=0.52, happiness=0.36) for track in (1, 2, 3)]
    lines = printed(showing.frame_readings(*readings))
    assert lines[2].count("52 + 36") == 3
    assert "…" not in lines[2]
