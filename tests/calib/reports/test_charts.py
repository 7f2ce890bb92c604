"""What is drawn in characters, cell by cell."""

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from calib.blends import CompoundHeatmap, compound_heatmap
from calib.intervals import Interval
from calib.limits import LimitCheck
from calib.metrics import Bin
from calib.reports.charts import (
    DIAGONAL,
    NO_FACES,
    OVER,
    RIGHT,
    UNDER,
    Heatmap,
    IntervalPlot,
    reliability_bar,
    short_name,
)


def limit(change: float) -> LimitCheck:
    return LimitCheck("ece", change, Interval(change, change), 0.005)


def drawn(heatmap: CompoundHeatmap, width: int = 80) -> list[str]:
    output = StringIO()
    Console(file=output, width=width, color_system=None).print(Heatmap(heatmap))
    return output.getvalue().splitlines()


def heatmap_of(classes: tuple[str, ...], pairs: list[tuple[int, int]]) -> CompoundHeatmap:
    votes = np.zeros((len(pairs), len(classes)))
    for row, pair in enumerate(pairs):
        votes[row, list(pair)] = 5
    shares = (votes + 1) / (votes + 1).sum(axis=1, keepdims=True)
    return compound_heatmap(shares, votes, classes)


def test_an_over_confident_bar_falls_short_of_the_diagonal() -> None:
    bar = reliability_bar(Bin(0.8, 0.9, 100, confidence=0.8, accuracy=0.5), 10).plain
    assert bar == RIGHT * 5 + OVER * 3 + DIAGONAL


def test_an_under_confident_bar_goes_past_the_diagonal() -> None:
    bar = reliability_bar(Bin(0.4, 0.6, 100, confidence=0.5, accuracy=0.8), 10).plain
    assert bar == RIGHT * 5 + DIAGONAL + UNDER * 3


def test_a_gap_of_less_than_half_a_cell_is_not_drawn() -> None:
    bar = reliability_bar(Bin(0.9, 1.0, 100, confidence=0.951, accuracy=0.949), 10).plain
    assert bar == RIGHT * 10 + DIAGONAL


def test_an_empty_bin_still_shows_where_the_diagonal_passes() -> None:
    bar = reliability_bar(Bin(0.4, 0.6, 0, confidence=None, accuracy=None), 10).plain
    assert bar == " " * 5 + NO_FACES


@pytest.mark.parametrize("accuracy", [0.0, 0.5, 1.0])
def test_no_bar_is_wider_than_its_room(accuracy: float) -> None:
    for confidence in np.linspace(0, 1, 21):
        bar = reliability_bar(Bin(0.0, 1.0, 9, float(confidence), accuracy), 40)
        assert len(bar.plain) <= 41


def test_an_interval_plot_marks_zero_the_limit_and_the_change_in_order() -> None:
    line = IntervalPlot(0.002, Interval(0.001, 0.003), limit(0.002)).line(41).plain
    assert line.index("│") == 20
    assert line.index("┋") == 30
    assert line.index("●") == 24
    assert line.count("─") == 4


def test_a_change_off_the_scale_becomes_an_arrow() -> None:
    assert IntervalPlot(-0.5, None, limit(-0.5)).line(21).plain.startswith("◀")
    assert IntervalPlot(0.5, None, limit(0.5)).line(21).plain.endswith("▶")


def test_a_change_drawn_on_its_limit_differs_from_one_drawn_elsewhere() -> None:
    line = IntervalPlot(0.0051, Interval(0.004, 0.006), limit(0.0051)).line(21).plain
    assert line.index("◉") == 15
    assert "┋" not in line
    assert "●" not in line


@pytest.mark.parametrize(
    ("name", "room", "short"),
    [
        ("happiness", 9, "happiness"),
        ("happiness", 6, "hap."),
        ("fear", 4, "fear"),
        ("sadly angry", 6, "sadly\nangry"),
        ("happily surprised", 4, "hap.\nsur."),
    ],
)
def test_a_name_too_long_for_its_column_is_shortened_word_by_word(
    name: str, room: int, short: str
) -> None:
    assert short_name(name, room) == short


def test_a_heatmap_too_wide_keeps_the_emotions_that_people_saw() -> None:
    classes = tuple(f"c{index}" for index in range(26))
    lines = drawn(heatmap_of(classes, [(3, 25), (4, 20)]))
    assert max(map(len, lines)) <= 80
    assert {"c3", "c4", "c20", "c25"} <= set(lines[0].split())
    assert lines[1].count("[") == lines[2].count("[") == 2
    shown = len(set(lines[0].split()) & set(classes))
    assert 8 <= shown < 26
    assert lines[-1] == f"{shown} of 26 emotions fit here; the rest are in the JSON."


def test_a_heatmap_that_fits_says_nothing_of_columns() -> None:
    assert not any("fit here" in line for line in drawn(heatmap_of(("a", "b", "c"), [(0, 1)])))
