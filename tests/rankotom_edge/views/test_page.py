"""The terminal's page, as text."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from calib.emotions import EMOTIONS
from rankotom_edge.controls import KEYS, Controls
from rankotom_edge.moment import Moment
from rankotom_edge.reliability import Reliability
from rankotom_edge.sources import State
from rankotom_edge.views.page import render
from rankotom_edge.wording import STILL


class Printed:
    """Pages as a terminal of some size gets them."""

    def __init__(self, showing: Any, reliability: Reliability) -> None:
        self._showing, self._reliability = showing, reliability

    def __call__(
        self,
        moment: Moment | None,
        controls: Controls | None = None,
        size: tuple[int, int] = (80, 24),
        encoding: str = "utf-8",
        colours: bool = True,
        picture: bool = False,
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
            moment,
            replace(self._showing.status, **status),
            controls or Controls(),
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


@pytest.mark.parametrize("size", [(80, 24), (200, 60), (120, 30), (40, 12), (20, 5)])
@pytest.mark.parametrize("faces", [0, 1, 2, 3, 8])
@pytest.mark.parametrize(
    "controls",
    [Controls(), Controls(help=True), Controls(reliability=True), Controls(crop=True)],
    ids=["plain", "help", "reliability", "crop"],
)
def test_a_page_never_outgrows_the_terminal(
    printed: Printed, showing: Any, size: tuple[int, int], faces: int, controls: Controls
) -> None:
    readings = [showing.reading(track, happiness=0.6) for track in range(1, faces + 1)]
    lines = printed(showing.moment(*readings), controls, size, picture=True)
    assert len(lines) == size[1]
    assert max(len(line) for line in lines) <= size[0]


def test_a_face_has_a_bar_for_each_emotion_in_the_order_of_the_model(
    printed: Printed, showing: Any, reliability: Reliability
) -> None:
    lines = printed(showing.moment(showing.reading(sadness=0.7, anger=0.1)))
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
        sum(line.count("▇") for line in printed(showing.moment(showing.reading(**{name: share}))))
        for name, share in (("fear", 0.4), ("fear", 0.8))
    ]
    assert lengths[0] < lengths[1]


def test_faces_stand_side_by_side_and_the_largest_come_first(
    printed: Printed, showing: Any
) -> None:
    three = [showing.reading(track, happiness=0.9) for track in (1, 2, 3)]
    assert printed(showing.moment(*three))[1].count("happiness") == 3
    many = [showing.reading(track, happiness=0.9) for track in range(1, 10)]
    page = printed(showing.moment(*many))
    assert "+3 more" in page[0]
    heads = [line.split()[0] for line in (page[1], page[12])]
    assert heads == ["4", "7"]  # a later track's face is larger here


def test_a_blend_names_both_and_their_shares(printed: Printed, showing: Any) -> None:
    page = printed(showing.moment(showing.reading(happiness=0.52, surprise=0.31)))
    assert "happily surprised" in page[1]
    assert "52 + 31" in page[1]
    assert "happiness 52 + surprise 31" in page[2]


def test_unsure_says_why(printed: Printed, showing: Any) -> None:
    page = printed(showing.moment(showing.reading(happiness=0.5, reason="turned away")))
    assert page[1].split() == ["unsure"]
    assert "turned away" in page[2]


def test_the_last_line_is_the_state(printed: Printed, showing: Any) -> None:
    moment = showing.moment(showing.reading(happiness=0.9))
    line = printed(moment, dropped=3)[-1]
    assert line.split() == [
        *("30", "fps", "12", "ms", "ferplus-fp32", "3", "dropped", "camera", "0", "h", "help")
    ]
    flags = printed(moment, Controls(paused=True, smoothed=False), recording="/tmp/x")[-1]
    assert flags.split()[-4:] == ["raw", "paused", "●", "REC"]
    assert printed(moment, notice="saved snapshot.png")[-1].strip() == "saved snapshot.png"


def test_a_still_a_loss_and_nobody_are_said_plainly(printed: Printed, showing: Any) -> None:
    moment = showing.moment(showing.reading(happiness=0.9))
    assert STILL in printed(moment, still=True)[-2]
    lost = "\n".join(printed(moment, state=State("lost", "lost: opening it again in 4 s")))
    assert lost.count("camera 0, lost: opening it again in 4 s") == 2
    assert "happiness" not in lost
    assert "no face" in "\n".join(printed(showing.moment()))
    assert "waiting for camera 0" in "\n".join(printed(None))


def test_the_keys_show_help_diagram_crop_and_picture(
    printed: Printed, showing: Any, reliability: Reliability
) -> None:
    moment = showing.moment(showing.reading(happiness=0.9))
    helped = "\n".join(printed(moment, Controls(help=True)))
    for key, words in KEYS.items():
        assert (words in helped) is (key != "c")
    assert "a small picture" in helped
    diagram = "\n".join(printed(moment, Controls(reliability=True)))
    assert f"ECE {100 * reliability.figures['ece']:.1f} %, 1,789 faces" in diagram
    assert "93–100" in diagram
    assert sum(line.count("▀") for line in printed(moment, Controls(crop=True))) == 24 * 12
    assert sum(line.count("▀") for line in printed(moment, picture=True)) == 38 * 14


def test_without_colours_a_picture_is_not_tried(printed: Printed, showing: Any) -> None:
    moment = showing.moment(showing.reading(happiness=0.9))
    page = "\n".join(printed(moment, picture=True, colours=False))
    assert "▀" not in page
    assert "no colours" in page


def test_an_ascii_terminal_gets_ascii(printed: Printed, showing: Any) -> None:
    moment = showing.moment(showing.reading(happiness=0.9))
    for controls in (Controls(), Controls(help=True), Controls(reliability=True)):
        page = "\n".join(printed(moment, controls, encoding="ascii", recording="x"))
        assert page.isascii()
    assert "#####" in page


def test_a_drift_is_whole_on_the_last_line_of_a_narrow_terminal(
    printed: Printed, showing: Any
) -> None:
    moment = showing.moment(showing.reading(happiness=0.9))
    line = printed(moment, drift=showing.drifted, dropped=12)[-1]
    assert line.split("  ")[:3] == [" 30 fps", "12 ms", showing.drifted.words]
    assert printed(moment, drift=showing.steady)[-1] == printed(moment)[-1]
    lost = State("lost", "lost: opening it again in 3 s")
    assert "opening it again" in printed(moment, drift=showing.drifted, state=lost)[-1]


def test_a_narrow_page_keeps_the_bars_and_leaves_the_picture_out(
    printed: Printed, showing: Any
) -> None:
    lines = printed(showing.moment(showing.reading(sadness=0.7)), size=(60, 20), picture=True)
    assert "sadness" in "\n".join(lines)
    assert "▀" not in "\n".join(lines)


def test_a_blend_in_a_narrow_column_tells_its_numbers_whole(printed: Printed, showing: Any) -> None:
    readings = [showing.reading(track, neutral=0.52, happiness=0.36) for track in (1, 2, 3)]
    lines = printed(showing.moment(*readings))
    assert lines[2].count("52 + 36") == 3
    assert "…" not in lines[2]
