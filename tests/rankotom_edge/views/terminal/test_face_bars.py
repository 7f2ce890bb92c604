"""The faces of the terminal's page: headlines, bars, and what a small terminal leaves out."""

from __future__ import annotations

import re
from typing import Any

import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.views.history import History
from rankotom_edge.views.terminal.face_bars import Plan, plan_lines


def numbers(lines: list[str]) -> list[int]:
    """Of the faces whose headlines are on the page."""
    return [int(number) for line in lines for number in re.findall(r"(\d+) happiness", line)]


def test_a_face_has_a_bar_for_each_emotion_in_the_order_of_the_model(
    printed: Any, showing: Any, reliability: Reliability
) -> None:
    lines = printed(showing.frame_readings(showing.reading(sadness=0.7, anger=0.1)))
    page = "\n".join(lines)
    assert "sadness" in lines[1]
    assert "70 %" in lines[1]
    right = reliability.at(0.7)
    assert right is not None
    assert f"right {100 * right:.0f} times in 100" in lines[2]
    bars = [line for line in lines[3:] if line.split()[:1] and line.split()[0] in EMOTIONS]
    assert [line.split()[0] for line in bars] == list(EMOTIONS)
    longest = max(bars, key=lambda line: line.count("▇"))
    assert longest.split()[0] == "sadness"
    assert longest.count("┃") == 1  # the mark of the highest bar, on both of its lines
    assert page.count("┃") == 2
    assert page.count("│") == len(EMOTIONS) - 1  # and of each other one


@pytest.mark.parametrize(
    ("lines", "plan"),
    [
        (5, Plan(bars=5, thick=1, strip=0, gap=False)),
        (8, Plan(bars=8, thick=1, strip=0, gap=False)),
        (11, Plan(bars=8, thick=1, strip=2, gap=False)),
        (14, Plan(bars=8, thick=1, strip=4, gap=True)),
        (20, Plan(bars=8, thick=2, strip=3, gap=False)),
        (60, Plan(bars=8, thick=3, strip=4, gap=True)),
    ],
)
def test_more_lines_hold_all_bars_then_the_last_minute_then_larger_bars(
    lines: int, plan: Plan
) -> None:
    assert plan_lines(lines, labels=8) == plan


def test_one_face_takes_the_width_and_shows_its_last_minute(printed: Any, showing: Any) -> None:
    history, reading = History(), showing.reading(happiness=0.9)
    for step in range(120):
        history.add(step / 2, [reading])
    page = printed(showing.frame_readings(reading), size=(120, 40), history=history)
    assert len(page[1].rstrip()) == 119
    band = "█" * 118
    assert [line.count(band) for line in page].count(1) == 2
    below = page[len(page) - [line.strip() for line in reversed(page)].index(band) :]
    assert "happiness" in below[0]
    assert below[1].split() == ["1", "min", "ago", "now"]


def test_the_bar_is_as_long_as_the_share(printed: Any, showing: Any) -> None:
    lengths = [
        sum(
            line.count("▇")
            for line in printed(showing.frame_readings(showing.reading(**{name: share})))
        )
        for name, share in (("fear", 0.4), ("fear", 0.8))
    ]
    assert lengths[0] < lengths[1]


def test_faces_stand_side_by_side_and_those_that_came_first_stay(
    printed: Any, showing: Any
) -> None:
    three = [showing.reading(track, happiness=0.9) for track in (1, 2, 3)]
    assert printed(showing.frame_readings(*three))[1].count("happiness") == 3
    many = [showing.reading(track, happiness=0.9) for track in range(1, 10)]
    for readings in (many, many[::-1]):  # as a detector may list them
        page = printed(showing.frame_readings(*readings), size=(30, 6))
        assert numbers(page) == [1, 2, 3, 4]
        assert page[0].strip() == "+5 more faces"


@pytest.mark.parametrize(
    ("size", "bars"),
    [((80, 24), 8), ((60, 20), 7), ((40, 12), 1), ((40, 10), 0), ((40, 4), None)],
)
def test_each_face_is_cut_down_to_its_headline_before_one_is_left_out(
    printed: Any, showing: Any, size: tuple[int, int], bars: int | None
) -> None:
    three = [showing.reading(track, happiness=0.9) for track in (1, 2, 3)]
    page = printed(showing.frame_readings(*three), size=size)
    assert numbers(page) == [1, 2, 3]
    assert "more" not in "\n".join(page)
    assert "\n".join(page).count("times in 100") == (0 if bars is None else 3)
    assert len(re.findall(r"\d %", "\n".join(page))) == 3 * (1 + (bars or 0))


def test_a_line_counts_only_the_faces_that_it_cannot_show(printed: Any, showing: Any) -> None:
    readings = [showing.reading(track, happiness=0.9) for track in range(1, 7)]
    assert numbers(printed(showing.frame_readings(*readings[:5]), size=(30, 6))) == [1, 2, 3, 4, 5]
    assert printed(showing.frame_readings(*readings), size=(30, 6))[0].strip() == "+2 more faces"
    assert numbers(printed(showing.frame_readings(*readings), size=(30, 2))) == [1]


def test_an_unsure_headline_alone_still_says_why(printed: Any, showing: Any) -> None:
    readings = [showing.reading(track, reason="blurred", happiness=0.5) for track in (1, 2, 3)]
    page = printed(showing.frame_readings(*readings), size=(40, 4))
    assert [line.strip() for line in page[:3]] == [
        f"{track} unsure: blurred: hold still" for track in (1, 2, 3)
    ]


def test_one_face_has_all_its_bars_where_they_just_fit(printed: Any, showing: Any) -> None:
    page = printed(
        showing.frame_readings(showing.reading(happiness=0.9)), size=(40, 12), still=True
    )
    assert [line.split()[0] for line in page[2:10]] == list(EMOTIONS)


def test_a_blend_names_both_and_their_shares(printed: Any, showing: Any) -> None:
    page = printed(showing.frame_readings(showing.reading(happiness=0.52, surprise=0.31)))
    assert "happily surprised" in page[1]
    assert "52 + 31" in page[1]
    assert "happiness and surprise" in page[2]


def test_a_blend_in_a_narrow_column_keeps_its_whole_numbers(printed: Any, showing: Any) -> None:
    readings = [showing.reading(track, neutral=0.52, happiness=0.36) for track in (1, 2, 3)]
    lines = printed(showing.frame_readings(*readings))
    assert lines[2].count("52 + 36") == 3
    assert "…" not in lines[2]


def test_unsure_says_why(printed: Any, showing: Any) -> None:
    page = printed(showing.frame_readings(showing.reading(happiness=0.5, reason="turned away")))
    assert page[1].split() == ["unsure"]
    assert "turned away" in page[2]
