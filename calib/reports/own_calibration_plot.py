"""The plot of a calibration tried on a user's labels: figures, both diagrams, what it rests on."""

from pathlib import Path
from typing import TYPE_CHECKING

from calib.label_trial import LabelledFigures, LabelTrial
from calib.reports import plots
from calib.reports.number_text import (
    interval_text,
    percent,
    signed_interval,
    signed_text,
    value_text,
)
from calib.reports.own_calibration import (
    HELD_OUT,
    RIGHT,
    ROWS,
    SAMPLE,
    floor_text,
    headline,
    reasons,
    trial_notes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The columns of the table, and where each ends, as a share of the table's width.
COLUMNS = (
    ("", 0.0),
    ("before", 0.24),
    ("95 % interval", 0.36),
    ("after", 0.49),
    ("95 % interval", 0.61),
    ("change", 0.76),
    ("paired 95 % interval", 1.0),
)
LINE = 0.19  # inches, of the notes


def plot_own_calibration(trial: LabelTrial, model: str, path: Path) -> None:
    notes = [
        *trial_notes(trial),
        *(("unsure", doubt) for doubt in trial.verdict.unsure),
        ("lines", "the 95 % interval of how often the faces of a bar were right"),
        ("", RIGHT),
        ("", f"{HELD_OUT} {SAMPLE}"),
    ]
    lines = [
        (name if row == 0 else "", line)
        for name, words in notes
        for row, line in enumerate(plots.wrap_words(words, 128))
    ]
    foot = 0.2 + LINE * len(lines)
    with plots.plot_file(path, (11.5, 7.6 + foot)) as figure:
        words = " ".join((f"{headline(trial)}.", *reasons(trial)))
        colour = plots.BLUE if trial.verdict.passed else plots.RUST
        plots.add_headline(figure, f"{model}: your faces", words, colour, foot)
        axes = figure.subplot_mosaic(
            [["table", "table"], ["before", "after"], ["before counts", "after counts"]],
            height_ratios=[1.5, 4, 1],
            gridspec_kw={"hspace": 0.05},
        )
        _draw_table(axes["table"], trial)
        for side, figures in (("before", trial.before), ("after", trial.after)):
            plots.draw_reliability(axes[side], axes[f"{side} counts"], figures.bins)
            _draw_intervals(axes[side], figures)
            error = percent(figures.ece.value)
            axes[side].set_title(f"{side.title()}: ECE {error}, floor {floor_text(figures.ece)} %")
        _add_notes(figure, lines)


def _draw_intervals(axes: "Axes", figures: LabelledFigures) -> None:
    """How often the faces of each bin were right: the 95 % interval."""
    for bin_, spread in zip(figures.bins, figures.bin_intervals, strict=True):
        if spread is not None:
            middle = 50 * (bin_.low + bin_.high)
            ends = [100 * spread.low, 100 * spread.high]
            axes.plot([middle, middle], ends, color=plots.INK, linewidth=1.2, zorder=5)


def _draw_table(axes: "Axes", trial: LabelTrial) -> None:
    rows = [[head for head, _ in COLUMNS], _confidence_row(trial)]
    rows += [_table_row(trial, name) for name in ROWS]
    for row, cells in enumerate(rows):
        axes.plot([0, 1], [row + 0.5] * 2, color=plots.GRID)
        for (head, end), cell in zip(COLUMNS, cells, strict=True):
            faint = row == 0 or "interval" in head
            axes.text(
                end,
                row,
                cell,
                ha="right" if head else "left",
                va="center_baseline",
                color=plots.FAINT if faint else plots.INK,
                fontweight="bold" if row and head == "change" else "normal",
            )
    axes.set(xlim=(0, 1), ylim=(len(rows) - 0.4, -0.5))
    axes.set_axis_off()


def _confidence_row(trial: LabelTrial) -> list[str]:
    before, after = trial.before.confidence, trial.after.confidence
    return ["says", percent(before), "", percent(after), "", signed_text(after - before, 1), ""]


def _table_row(trial: LabelTrial, name: str) -> list[str]:
    label, digits = ROWS[name]
    before, after = getattr(trial.before, name), getattr(trial.after, name)
    return [
        label,
        value_text(before.value, digits),
        interval_text(before.interval, digits),
        value_text(after.value, digits),
        interval_text(after.interval, digits),
        signed_text(trial.change[name], digits),
        signed_interval(trial.intervals.get(name), digits),
    ]


def _add_notes(figure: "Figure", lines: list[tuple[str, str]]) -> None:
    height = figure.get_figheight()
    for row, (name, line) in enumerate(reversed(lines)):
        bottom = (0.12 + LINE * row) / height
        figure.text(0.012, bottom, name, color=plots.FAINT)
        figure.text(0.1, bottom, line)
