"""The plot of an evaluation: reliability, calibration errors over their floor, classes, how many
errors are left among the surest faces, and blends."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.blends import CompoundHeatmap
from calib.evaluation import Evaluation
from calib.guarantees import SHOWN_BUDGETS, guaranteed_threshold
from calib.reports import plots
from calib.reports.charts import HEATMAP_ROWS, SHOWN_CLASSES
from calib.reports.number_text import NAMES, faces_text
from calib.reports.wording import calibration_verdict, model_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LABEL_ROOM = 20  # per cent of the axis; nearer to its left end a label stands right of its point


def plot_evaluation(
    evaluation: Evaluation, path: Path, heatmap: CompoundHeatmap | None = None
) -> None:
    blends, risk = heatmap is not None and bool(heatmap.rows), bool(evaluation.thresholds)
    with plots.plot_file(path, (11.5, 5.8 + 2.6 * risk + 4.0 * blends)) as figure:
        consistent, words = calibration_verdict(evaluation)
        plots.add_headline(
            figure,
            f"{model_name(evaluation)}, {faces_text(evaluation.n)}",
            words,
            plots.BLUE if consistent else plots.RUST,
        )
        plan: list[Any] = [["diagram", "errors"], ["diagram", "classes"], ["counts", "classes"]]
        heights = [1.3, 1.3, 0.6]
        if risk:
            plan, heights = [*plan, ["risk", "risk"]], [*heights, 1.5]
        if blends:
            plan, heights = [*plan, ["blends", "blends"]], [*heights, 2.6]
        axes = figure.subplot_mosaic(plan, width_ratios=[1.15, 1], height_ratios=heights)
        plots.draw_reliability(axes["diagram"], axes["counts"], evaluation.reliability)
        axes["diagram"].set_title("Reliability")
        _draw_errors(axes["errors"], evaluation)
        _draw_classes(axes["classes"], evaluation)
        if risk:
            _draw_risk(axes["risk"], evaluation)
        if heatmap is not None and blends:
            draw_heatmap(axes["blends"], heatmap)


def _draw_errors(axes: "Axes", evaluation: Evaluation) -> None:
    """Each calibration error with its interval, on the band that chance alone explains."""
    shown = [
        (NAMES[name][0], estimate)
        for name, estimate in evaluation.metrics.items()
        if name in ("ece", "aece", "mce50") and estimate.value is not None
    ]
    for row, (_, estimate) in enumerate(shown):
        value = 100 * (estimate.value or 0.0)
        if estimate.floor is not None:
            axes.barh(row, 100 * estimate.floor.p95, height=0.62, color=plots.BAR, zorder=1)
            axes.plot(
                [100 * estimate.floor.mean] * 2, [row - 0.31, row + 0.31], color=plots.FAINT, lw=1
            )
        colour = plots.BLUE if estimate.consistent else plots.RUST
        if estimate.interval is not None:
            axes.plot(
                [100 * estimate.interval.low, 100 * estimate.interval.high],
                [row, row],
                color=colour,
            )
        axes.plot(value, row, "o", color=colour, markersize=7, zorder=3)
    # Beside the chart, where no bar, dot or interval can reach the value.
    axes.set_yticks(
        range(len(shown)),
        [f"{name}  {100 * (estimate.value or 0.0):.1f} %" for name, estimate in shown],
    )
    axes.set(ylim=(len(shown) - 0.5, -0.5), xlim=(0, None))
    axes.set_xlabel("%; grey: what chance alone explains")
    axes.set_title("Calibration errors over their floor")


def _draw_classes(axes: "Axes", evaluation: Evaluation) -> None:
    """The confidence of the model when it names an emotion, and how often it is right."""
    named = [emotion for emotion in evaluation.per_class if emotion.precision is not None]
    named = named[:SHOWN_CLASSES]
    for row, emotion in enumerate(named):
        says, right = 100 * (emotion.confidence or 0.0), 100 * (emotion.precision or 0.0)
        colour = plots.ORANGE if says > right else plots.SKY
        axes.plot([says, right], [row, row], color=colour, linewidth=4, solid_capstyle="butt")
        axes.plot(says, row, "|", color=plots.INK, markersize=11, markeredgewidth=1.6)
        axes.plot(right, row, "o", color=colour, markersize=7)
    axes.set_yticks(range(len(named)), [emotion.name for emotion in named])
    axes.set(ylim=(len(named) - 0.5, -0.5), xlim=(None, 102))
    axes.set_xlabel("%; | what it says when it names it, ● how often that is right")
    axes.set_title("Emotion by emotion")
    axes.grid(axis="y", color=plots.GRID)
    axes.set_axisbelow(True)


def _draw_risk(axes: "Axes", evaluation: Evaluation) -> None:
    """The share of errors among the surest faces, and what it is below with 95 % confidence."""
    counted = [each for each in evaluation.thresholds if each.count]
    faces = [100 * each.count / evaluation.n for each in counted]
    bounds = [100 * each.error_bound for each in counted]
    errors = [100 * each.wrong / each.count for each in counted]
    axes.fill_between(faces, errors, bounds, color=plots.BAR, zorder=1)
    axes.plot(faces, errors, color=plots.BLUE, zorder=2)
    marked = {
        kept: budget
        for budget in reversed(SHOWN_BUDGETS)
        if (kept := guaranteed_threshold(evaluation.thresholds, budget))
    }
    top = 1.25 * max(bounds[-1], errors[-1])
    height = 0.0  # of the label below: each stands above the last, so that none overlap
    for kept, budget in sorted(marked.items(), key=lambda item: item[0].count):
        x, y = 100 * kept.count / evaluation.n, 100 * kept.error_bound
        height = max(y + 0.02 * top, height + 0.08 * top)
        beside, side = (x + 1, "left") if x < LABEL_ROOM else (x - 1, "right")
        axes.plot(x, y, "o", color=plots.INK, markersize=5, zorder=3)
        words = f"≤ {100 * budget:g} % from {100 * kept.confidence:.0f} %"
        axes.text(beside, height, words, ha=side, fontsize=8.5)
    axes.set(xlim=(0, 101), ylim=(0, max(top, height + 0.08 * top)))
    axes.set_xlabel("surest faces, % of all; ● the confidence from which a budget is kept")
    axes.set_ylabel("wrong, %")
    axes.set_title("Errors among the surest faces; grey: up to the bound of 95 % confidence")


def draw_heatmap(axes: "Axes", heatmap: CompoundHeatmap) -> None:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    shown = 100 * heatmap.confidence[:HEATMAP_ROWS]
    ground = LinearSegmentedColormap.from_list("blues", ["white", plots.SKY, plots.BLUE])
    axes.imshow(shown, cmap=ground, vmin=0, vmax=80, aspect="auto")
    for (row, column), share in np.ndenumerate(shown):
        framed = column in heatmap.constituents[row]
        axes.text(
            column,
            row,
            f"{share:.0f}",
            ha="center",
            va="center",
            color="white" if share > 50 else plots.INK,
            fontweight="bold" if framed else "normal",
        )
        if framed:
            axes.add_patch(
                Rectangle((column - 0.47, row - 0.45), 0.94, 0.9, fill=False, ec=plots.ORANGE, lw=2)
            )
    names = [f"{heatmap.rows[row]}  ({heatmap.counts[row]:,})" for row in range(len(shown))]
    axes.set_yticks(range(len(shown)), names)
    axes.set_xticks(range(len(heatmap.columns)), heatmap.columns)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title("Blends that people saw: mean confidence in %, the two voted emotions framed")
