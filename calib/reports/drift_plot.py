"""The plot of a drift: a table of the metrics, both reliability diagrams, changes and flips."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from calib.drift import Drift, check_limits
from calib.limits import DEFAULT_LIMITS, LimitCheck, Limits, Verdict
from calib.reports import plots
from calib.reports.charts import SHOWN_CLASSES
from calib.reports.comparison_table import comparison_rows
from calib.reports.number_text import NAMES, faces_text, percent, points
from calib.reports.wording import drift_headline, drift_notes, model_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

# The chart of changes shows this many limits on either side of 0.
REACH = 3.0
# The columns of the table, and where each ends, as a share of the plot's width.
EDGE = 0.988
COLUMNS = (
    ("", 1 - EDGE),
    ("before", 0.2),
    ("95 % interval", 0.315),
    ("after", 0.445),
    ("95 % interval", 0.56),
    ("change", 0.69),
    ("paired 95 % interval", 0.875),
    ("limit", EDGE),
)
# In inches: the height of a line of notes, and of a class in the chart of flips.
LINE, CLASS = 0.19, 0.18


def plot_drift(drift: Drift, verdict: Verdict, limits: Limits, path: Path) -> None:
    notes = _note_lines(drift, verdict)
    foot = 0.2 + LINE * len(notes)
    charts = max(3.4, CLASS * min(len(drift.per_class), SHOWN_CLASSES))
    with plots.plot_file(path, (11.5, 8.8 + charts + foot)) as figure:
        plots.add_headline(
            figure,
            f"{model_name(drift.reference)} → {model_name(drift.candidate)}, "
            f"the same {faces_text(drift.reference.n)}",
            " ".join((f"{drift_headline(drift, limits, verdict)}.", *verdict.reasons)),
            plots.BLUE if verdict.passed else plots.RUST,
            foot,
        )
        axes = figure.subplot_mosaic(
            [
                ["table", "table"],
                ["before", "after"],
                ["before counts", "after counts"],
                ["changes", "flips"],
            ],
            height_ratios=[2.4, 4, 1, charts],
            gridspec_kw={"hspace": 0.05},
        )
        _draw_table(figure, axes["table"], drift, limits)
        for side, evaluation in (("before", drift.reference), ("after", drift.candidate)):
            plots.draw_reliability(axes[side], axes[f"{side} counts"], evaluation.reliability)
            error = percent(evaluation.metrics["ece"].value, 2)
            name = _shorten(model_name(evaluation))
            axes[side].set_title(f"{side.title()}: {name}, ECE {error}")
        _draw_changes(axes["changes"], drift, limits)
        _draw_flips(axes["flips"], drift)
        _add_notes(figure, notes)


def _shorten(name: str, most: int = 30) -> str:
    """Keep the end of a long name: two paths differ there."""
    return name if len(name) <= most else f"…{name[1 - most :]}"


def _draw_table(figure: "Figure", axes: "Axes", drift: Drift, limits: Limits) -> None:
    """Before and after side by side over the whole width, each metric with its interval."""
    from matplotlib.transforms import blended_transform_factory

    across = blended_transform_factory(figure.transFigure, axes.transData)
    rows = comparison_rows(drift, limits)
    _draw_table_row(axes, across, 0, [head for head, _ in COLUMNS], plots.FAINT)
    for position, row in enumerate(rows, 1):
        _draw_table_row(axes, across, position, row.cells, _colour(row.check))
    axes.set_ylim(len(rows) + 1, -0.5)
    axes.set_axis_off()


def _draw_table_row(
    axes: "Axes", across: "Transform", row: int, cells: Sequence[str], colour: str
) -> None:
    """Names on the left, numbers on the right, intervals faint, and a line below."""
    (rule,) = axes.plot([1 - EDGE, EDGE], [row + 0.5] * 2, color=plots.GRID, transform=across)
    rule.set(clip_on=False, in_layout=False)
    for (head, end), cell in zip(COLUMNS, cells, strict=True):
        faint = row == 0 or "interval" in head
        axes.text(
            end,
            row,
            cell,
            ha="right" if head else "left",
            va="center_baseline",
            color=plots.FAINT if faint else colour if head in ("change", "limit") else plots.INK,
            fontweight="bold" if row and head == "change" else "normal",
            transform=across,
        ).set_in_layout(False)


def _colour(check: LimitCheck | None) -> str:
    return plots.INK if check is None else plots.RUST if check.failed else plots.BLUE


def _draw_changes(axes: "Axes", drift: Drift, limits: Limits) -> None:
    """Every change in units of its limit; in units of the default one where the limit is 0."""
    checks = check_limits(drift, limits)
    axes.axvline(0, color=plots.FAINT, linewidth=1, zorder=1)
    for row, check in enumerate(checks):
        limit, unit = (1, check.size) if check.size else (0, getattr(DEFAULT_LIMITS, check.name))
        value, low, high = (
            np.clip(check.harm * change / unit, -2 * REACH, 2 * REACH)
            for change in (check.change, check.interval.low, check.interval.high)
        )
        axes.barh(row, limit + REACH, 1, left=-REACH, color=plots.GRID, zorder=0)
        axes.plot(
            [limit] * 2, [row - 0.5, row + 0.5], color=plots.RUST, linewidth=1.5, linestyle="--"
        )
        shape = "o" if abs(value) <= REACH else "<" if value < 0 else ">"
        edge = 0.97 * REACH
        axes.plot([low, high], [row, row], color=_colour(check), linewidth=2)
        axes.plot(np.clip(value, -edge, edge), row, shape, color=_colour(check), markersize=8)
    axes.set_yticks(range(len(checks)), [_change_label(check) for check in checks])
    axes.set(xlim=(-REACH, REACH), ylim=(len(checks) - 0.5, -0.5))
    usual = "" if all(check.size for check in checks) else " (of the usual one where that is 0)"
    axes.set_xlabel(
        f"harm in units of the limit{usual}\n"
        "with paired 95 % intervals; past the dashed line is a no"
    )
    axes.set_title("Changes against their limits")


def _change_label(check: LimitCheck) -> str:
    change = percent(check.change, 2) if check.name == "flips" else points(check.change, 2)
    return f"{NAMES[check.name][0]}\n{change}"


def _draw_flips(axes: "Axes", drift: Drift) -> None:
    measured = [(each.name, each.flips) for each in drift.per_class if each.flips][:SHOWN_CLASSES]
    names = [name for name, _ in measured]
    broken = np.array([100 * flips.broken for _, flips in measured])
    mended = np.array([100 * flips.mended for _, flips in measured])
    rates = np.array([100 * flips.rate for _, flips in measured])
    sideways = rates - broken - mended
    axes.barh(
        names, broken, color=plots.ORANGE, hatch="////", edgecolor="white", label="right to wrong"
    )
    axes.barh(names, sideways, left=broken, color=plots.BAR, label="wrong to wrong")
    axes.barh(names, mended, left=broken + sideways, color=plots.SKY, label="wrong to right")
    axes.set(xlim=(0, max(1.0, min(100.0, 1.05 * rates.max()))), ylim=(len(names) - 0.4, -0.6))
    axes.set_xlabel("% of the emotion's faces")
    axes.set_title("Faces whose emotion changed" if rates.any() else "No face's emotion changed")
    # Below the axis and its label, where no bar can reach it.
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=3.8, ncols=3, fontsize=8.5
    )


def _note_lines(drift: Drift, verdict: Verdict) -> list[tuple[str, str]]:
    """Name and words of each line; a continued line has no name."""
    doubts = [("unsure", doubt) for doubt in verdict.unsure]
    return [
        (name if row == 0 else "", line)
        for name, words in (*drift_notes(drift), *doubts)
        for row, line in enumerate(plots.wrap_words(words, 132))
    ]


def _add_notes(figure: "Figure", notes: list[tuple[str, str]]) -> None:
    height = figure.get_figheight()
    for row, (name, line) in enumerate(reversed(notes)):
        bottom = (0.12 + LINE * row) / height
        figure.text(0.012, bottom, name, color=plots.FAINT)
        figure.text(0.1, bottom, line)
