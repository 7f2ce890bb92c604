from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from calib.drift import Drift, check_limits, judge, measure_drift
from calib.limits import DEFAULT_LIMITS, Limits
from calib.predictions import Predictions
from calib.reports.comparison_table import comparison_rows
from calib.reports.drift_plot import plot_drift
from calib.reports.plots import RUST, STYLE

Draw: TypeAlias = Callable[..., Figure]
Pixels: TypeAlias = Callable[[Path], tuple[int, int, int]]
LAYERS = [f"/backbone/stage{stage}/block/depthwise-separable/expand/Conv" for stage in range(9)]
WIDE = ["StatefulPartitionedCall/MobileNetV3/ExpandedConv_6/BiasAdd"] * 3


@pytest.fixture
def drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Draw:
    """The figure behind a drift's PNG."""
    kept: list[Figure] = []
    save = Figure.savefig

    def keep(figure: Figure, *given: object, **named: object) -> None:
        kept.append(figure)
        save(figure, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Figure, "savefig", keep)

    def draw(drift: Drift, limits: Limits = DEFAULT_LIMITS) -> Figure:
        plot_drift(drift, judge(drift, limits), limits, tmp_path / "drift.png")
        return kept[-1]

    return draw


def chart_of(figure: Figure, label: str) -> Axes:
    return next(axes for axes in figure.axes if axes.get_xlabel().startswith(label))


def texts(figure: Figure) -> list[Text]:
    return [text for text in figure.findobj(Text) if isinstance(text, Text)]


def boxes(figure: Figure) -> list[tuple[str, Bbox]]:
    """Where each text of the plot is."""
    with rc_context(STYLE):
        FigureCanvasAgg(figure).draw()
        return [
            (text.get_text(), text.get_window_extent())
            for text in texts(figure)
            if text.get_text() and text.get_visible()
        ]


def test_a_drift_becomes_a_png(blurred: Drift, tmp_path: Path, pixels: Pixels) -> None:
    plot_drift(blurred, judge(blurred), DEFAULT_LIMITS, tmp_path / "drift.png")
    assert pixels(tmp_path / "drift.png")[2] > 50


def test_a_drift_has_its_metrics_before_and_after_with_intervals(
    blurred: Drift, drawn: Draw
) -> None:
    words = [text.get_text() for text in texts(drawn(blurred))]
    assert [words.count(head) for head in ("before", "after", "95 % interval")] == [1, 1, 2]
    for row in comparison_rows(blurred, DEFAULT_LIMITS):
        assert set(row.cells) <= set(words)


@pytest.mark.parametrize(
    ("name", "layers"),
    [("int8", LAYERS[:3]), ("int8", LAYERS), ("int8", WIDE), ("a/long/way/down/" * 5, [])],
)
def test_every_word_of_a_drift_is_inside_the_plot_and_clear_of_the_others(
    blurred: Drift, drawn: Draw, name: str, layers: list[str]
) -> None:
    model = {"name": name, "layers_in_fp32": layers}
    figure = drawn(replace(blurred, candidate=replace(blurred.candidate, model=model)))
    placed = boxes(figure)
    for words, box in placed:
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, words
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, words
    for index, (words, box) in enumerate(placed):
        clear = Bbox.from_extents(box.x0, box.y0 + 2, box.x1, box.y1 - 2)
        assert [other for other, place in placed[index + 1 :] if clear.overlaps(place)] == [], words


def test_a_drift_names_every_layer_that_stays_in_fp32(blurred: Drift, drawn: Draw) -> None:
    model = {"layers_in_fp32": LAYERS}
    figure = drawn(replace(blurred, candidate=replace(blurred.candidate, model=model)))
    words = " ".join(text.get_text() for text in figure.texts)
    assert [layer for layer in LAYERS if layer not in words] == []


def test_a_limit_of_0_keeps_its_row_and_stands_at_no_change(blurred: Drift, drawn: Draw) -> None:
    chart = chart_of(drawn(blurred, Limits(ece=0.0)), "harm")
    names = [label.get_text().partition("\n")[0] for label in chart.get_yticklabels()]
    assert names == ["ECE", "AECE", "accuracy", "flips"]
    dashed = [line for line in chart.lines if line.get_linestyle() == "--"]
    assert [np.asarray(line.get_xdata())[0] for line in dashed] == [0, 1, 1, 1]


@pytest.mark.parametrize("limits", [DEFAULT_LIMITS, Limits(0.0, 0.0, 0.0, 0.0)])
def test_what_fails_is_past_its_dashed_line(blurred: Drift, drawn: Draw, limits: Limits) -> None:
    chart = chart_of(drawn(blurred, limits), "harm")
    checks = check_limits(blurred, limits)
    dashed = [line for line in chart.lines if line.get_linestyle() == "--"]
    marks = [line for line in chart.lines if line.get_marker() in ("o", "<", ">")]
    for check, line, mark in zip(checks, dashed, marks, strict=True):
        past = np.asarray(mark.get_xdata())[0] > np.asarray(line.get_xdata())[0]
        assert past == check.failed == (mark.get_color() == RUST)


def test_where_nothing_flipped_the_axis_starts_at_0_and_the_title_says_so(
    read: Predictions, drawn: Draw
) -> None:
    chart = chart_of(drawn(measure_drift(read, read, resamples=20)), "% of")
    assert chart.get_xlim() == (0, 1)
    assert chart.get_title(loc="left") == "No face's emotion changed"


def test_where_everything_flipped_the_axis_ends_at_100(read: Predictions, drawn: Draw) -> None:
    turned = Predictions(np.roll(read.probabilities, 1, axis=1), read.labels, votes=read.votes)
    chart = chart_of(drawn(measure_drift(read, turned, resamples=20)), "% of")
    assert chart.get_xlim() == (0, 100)
    assert chart.get_title(loc="left") == "Faces whose emotion changed"
