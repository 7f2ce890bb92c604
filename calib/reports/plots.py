"""The reports as pictures. matplotlib is loaded only when one is asked for."""

import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.blends import CompoundHeatmap
from calib.drift import Drift, check_limits
from calib.errors import RankotomError
from calib.evaluation import Evaluation
from calib.files import replacing
from calib.limits import DEFAULT_LIMITS, LimitCheck, Limits, Verdict
from calib.metrics import Bin
from calib.reports.charts import HEATMAP_ROWS
from calib.reports.comparison_table import side_by_side
from calib.reports.model_notes import facts
from calib.reports.widgets import NAMES, percent, points
from calib.reports.wording import calibration_verdict, drift_headline, model_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

FORMATS = (".pdf", ".png", ".svg")
# Okabe and Ito's colours, in the shades that stand on white.
BLUE, SKY, ORANGE, RUST = "#0072b2", "#56b4e9", "#e69f00", "#d55e00"
INK, BAR, FAINT, GRID = "#22262b", "#c9d0d8", "#7d8794", "#eceff2"
# How many limits either side of 0 a drift's picture shows.
REACH = 3.0
# The columns of a drift's table, and where each ends, as a share of the picture's width.
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
# In inches: a line of facts, and a class in the chart of flips.
LINE, CLASS = 0.19, 0.18
MOST_CLASSES = 24
STYLE: dict[Any, Any] = {
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "font.size": 9.5,
    "legend.frameon": False,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.color": FAINT,
    "ytick.labelcolor": INK,
}


def plot_evaluation(
    evaluation: Evaluation, path: Path, heatmap: CompoundHeatmap | None = None
) -> None:
    """The reliability diagram, the calibration errors over their floor, and the blends if any."""
    blends = heatmap is not None and bool(heatmap.rows)
    with picture(path, (11.5, 9.8 if blends else 5.8)) as figure:
        consistent, words = calibration_verdict(evaluation)
        headline(
            figure,
            f"{model_name(evaluation)}, {evaluation.faces}",
            words,
            BLUE if consistent else RUST,
        )
        plan: list[Any] = [["diagram", "errors"], ["diagram", "classes"], ["counts", "classes"]]
        heights = [1.3, 1.3, 0.6]
        if blends:
            plan, heights = [*plan, ["blends", "blends"]], [*heights, 2.6]
        axes = figure.subplot_mosaic(plan, width_ratios=[1.15, 1], height_ratios=heights)
        _reliability(axes["diagram"], axes["counts"], evaluation.reliability)
        axes["diagram"].set_title("Reliability")
        _errors_over_floor(axes["errors"], evaluation)
        _class_calibration(axes["classes"], evaluation)
        if heatmap is not None and blends:
            _heatmap(axes["blends"], heatmap)


def plot_drift(drift: Drift, verdict: Verdict, limits: Limits, path: Path) -> None:
    """The figures before and after, both diagrams, the changes, the flips, and what is known."""
    told = _told(drift, verdict)
    foot = 0.2 + LINE * len(told)
    charts = max(3.4, CLASS * min(len(drift.per_class), MOST_CLASSES))
    with picture(path, (11.5, 8.8 + charts + foot)) as figure:
        headline(
            figure,
            f"{model_name(drift.reference)} → {model_name(drift.candidate)}, "
            f"the same {drift.reference.faces}",
            " ".join((f"{drift_headline(drift, limits, verdict)}.", *verdict.reasons)),
            BLUE if verdict.passed else RUST,
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
        _table(figure, axes["table"], drift, limits)
        for moment, evaluation in (("before", drift.reference), ("after", drift.candidate)):
            _reliability(axes[moment], axes[f"{moment} counts"], evaluation.reliability)
            error = percent(evaluation.metrics["ece"].value, 2)
            name = _ending(model_name(evaluation))
            axes[moment].set_title(f"{moment.title()}: {name}, ECE {error}")
        _changes(axes["changes"], drift, limits)
        _flips(axes["flips"], drift)
        _footer(figure, told)


@contextmanager
def picture(path: Path, size: tuple[float, float]) -> Iterator["Figure"]:
    """A figure that becomes the file once it is drawn; no pyplot, so no state is left behind."""
    if path.suffix.lower() not in FORMATS:
        raise RankotomError(
            f"cannot draw {path}: a picture's name ends in {', '.join(FORMATS[:-1])} or "
            f"{FORMATS[-1]}"
        )
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Names may hold letters that the font lacks; their empty boxes say so.
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure = Figure(figsize=size, facecolor="white")
        yield figure
        with replacing(path) as temporary:
            figure.savefig(temporary, dpi=150)


def headline(
    figure: "Figure", title: str, words: str, colour: str, foot_inches: float = 0.3
) -> None:
    """The title and the verdict, over a part of the figure that the layout leaves free."""
    titles, lines = _wrapped(title, 88), _wrapped(words, 136)
    height = figure.get_figheight()
    below_title = 0.2 + 0.25 * len(titles)
    free = (below_title + 0.15 + 0.2 * len(lines)) / height
    foot = foot_inches / height
    figure.set_layout_engine("constrained", rect=(0.006, foot, 0.986, 1 - free - foot))
    figure.text(
        0.012, 1 - 0.14 / height, "\n".join(titles), va="top", fontsize=14, fontweight="bold"
    )
    verdict = "\n".join(lines)
    figure.text(0.012, 1 - below_title / height, verdict, va="top", fontsize=10.5, color=colour)


def _wrapped(words: str, width: int) -> list[str]:
    """Names keep their hyphens on one line."""
    return textwrap.wrap(words, width, break_on_hyphens=False)


def _ending(name: str, most: int = 30) -> str:
    """Of two long paths, the ends tell them apart."""
    return name if len(name) <= most else f"…{name[1 - most :]}"


def _reliability(diagram: "Axes", counts: "Axes", bins: tuple[Bin, ...]) -> None:
    """The diagram, and beneath it how many faces each bar stands on."""
    diagram.plot([0, 100], [0, 100], color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=4)
    for bin_ in bins:
        if bin_.confidence is None or bin_.accuracy is None:
            continue
        _bar(diagram, bin_, bin_.confidence, bin_.accuracy)
    diagram.set(xlim=(0, 100), ylim=(0, 100), ylabel="how often that was right, %")
    diagram.grid(color=GRID, zorder=0)
    _key(diagram)
    middles = [50 * (bin_.low + bin_.high) for bin_ in bins]
    numbers = [bin_.count for bin_ in bins]
    counts.bar(middles, numbers, width=92 / len(bins), color=FAINT)
    for middle, number in zip(middles, numbers, strict=True):
        if number:
            counts.annotate(
                f"{number:,}",
                (middle, number),
                (0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=7,
                color=FAINT,
            )
    counts.set(
        xlim=(0, 100), xlabel="confidence shown, %", ylabel="faces", ylim=(0, 1.3 * max(numbers))
    )
    counts.set_yticks([])
    counts.spines["left"].set_visible(False)


def _bar(axes: "Axes", bin_: Bin, confidence: float, accuracy: float) -> None:
    left, width = 100 * bin_.low, 100 * (bin_.high - bin_.low)
    solid, top = 100 * min(confidence, accuracy), 100 * max(confidence, accuracy)
    over = confidence > accuracy
    axes.bar(left, solid, width, align="edge", color=BAR, edgecolor="white", zorder=2)
    axes.bar(
        left,
        top - solid,
        width,
        bottom=solid,
        align="edge",
        color=ORANGE if over else SKY,
        edgecolor="white",
        hatch="////" if over else "",
        zorder=3,
    )


def _key(axes: "Axes") -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    axes.legend(
        handles=[
            Patch(color=BAR, label="right"),
            Patch(facecolor=ORANGE, edgecolor="white", hatch="////", label="too sure"),
            Patch(color=SKY, label="not sure enough"),
            Line2D([], [], color=INK, linewidth=1, linestyle="--", label="perfect calibration"),
        ],
        loc="upper left",
        fontsize=8.5,
    )


def _errors_over_floor(axes: "Axes", evaluation: Evaluation) -> None:
    """Each calibration error with its interval, over the band that chance alone explains."""
    shown = [
        (NAMES[name][0], figure)
        for name, figure in evaluation.metrics.items()
        if name in ("ece", "aece", "mce50") and figure.value is not None
    ]
    for row, (_, figure) in enumerate(shown):
        value = 100 * (figure.value or 0.0)
        if figure.floor is not None:
            axes.barh(row, 100 * figure.floor.p95, height=0.62, color=BAR, zorder=1)
            axes.plot([100 * figure.floor.mean] * 2, [row - 0.31, row + 0.31], color=FAINT, lw=1)
        colour = BLUE if figure.consistent else RUST
        if figure.interval is not None:
            axes.plot(
                [100 * figure.interval.low, 100 * figure.interval.high], [row, row], color=colour
            )
        axes.plot(value, row, "o", color=colour, markersize=7, zorder=3)
        axes.annotate(
            f"{value:.1f} %",
            (value, row),
            (0, 7),
            textcoords="offset points",
            ha="center",
            fontsize=8.5,
            color=colour,
        )
    axes.set_yticks(range(len(shown)), [name for name, _ in shown])
    axes.set(ylim=(len(shown) - 0.4, -0.7), xlim=(0, None))
    axes.set_xlabel("%; grey: what chance alone explains")
    axes.set_title("Calibration errors over their floor")


def _class_calibration(axes: "Axes", evaluation: Evaluation) -> None:
    """What the model says when it names an emotion, and how often that is right."""
    known = [figures for figures in evaluation.per_class if figures.precision is not None]
    known = known[:MOST_CLASSES]
    for row, figures in enumerate(known):
        says, right = 100 * (figures.confidence or 0.0), 100 * (figures.precision or 0.0)
        colour = ORANGE if says > right else SKY
        axes.plot([says, right], [row, row], color=colour, linewidth=4, solid_capstyle="butt")
        axes.plot(says, row, "|", color=INK, markersize=11, markeredgewidth=1.6)
        axes.plot(right, row, "o", color=colour, markersize=7)
    axes.set_yticks(range(len(known)), [figures.name for figures in known])
    axes.set(ylim=(len(known) - 0.5, -0.5), xlim=(None, 102))
    axes.set_xlabel("%; | what it says when it names it, ● how often that is right")
    axes.set_title("Emotion by emotion")
    axes.grid(axis="y", color=GRID)
    axes.set_axisbelow(True)


def _heatmap(axes: "Axes", heatmap: CompoundHeatmap) -> None:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    shown = 100 * heatmap.confidence[:HEATMAP_ROWS]
    ground = LinearSegmentedColormap.from_list("blues", ["white", SKY, BLUE])
    axes.imshow(shown, cmap=ground, vmin=0, vmax=80, aspect="auto")
    for (row, column), share in np.ndenumerate(shown):
        framed = column in heatmap.constituents[row]
        axes.text(
            column,
            row,
            f"{share:.0f}",
            ha="center",
            va="center",
            color="white" if share > 50 else INK,
            fontweight="bold" if framed else "normal",
        )
        if framed:
            axes.add_patch(
                Rectangle((column - 0.47, row - 0.45), 0.94, 0.9, fill=False, ec=ORANGE, lw=2)
            )
    names = [f"{heatmap.rows[row]}  ({heatmap.counts[row]:,})" for row in range(len(shown))]
    axes.set_yticks(range(len(shown)), names)
    axes.set_xticks(range(len(heatmap.columns)), heatmap.columns)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_title("Blends that people saw: mean confidence in %, the two voted emotions framed")


def _table(figure: "Figure", axes: "Axes", drift: Drift, limits: Limits) -> None:
    """Before and after side by side, over the whole width, each figure with its interval."""
    from matplotlib.transforms import blended_transform_factory

    across = blended_transform_factory(figure.transFigure, axes.transData)
    rows = side_by_side(drift, limits)
    _table_row(axes, across, 0, [head for head, _ in COLUMNS], FAINT)
    for position, row in enumerate(rows, 1):
        _table_row(axes, across, position, row.cells, _colour(row.check))
    axes.set_ylim(len(rows) + 1, -0.5)
    axes.set_axis_off()


def _table_row(
    axes: "Axes", across: "Transform", row: int, cells: Sequence[str], judged: str
) -> None:
    """Names on the left, figures on the right, intervals faint, and a rule beneath."""
    (rule,) = axes.plot([1 - EDGE, EDGE], [row + 0.5] * 2, color=GRID, transform=across)
    rule.set(clip_on=False, in_layout=False)
    for (head, end), cell in zip(COLUMNS, cells, strict=True):
        faint = row == 0 or "interval" in head
        axes.text(
            end,
            row,
            cell,
            ha="right" if head else "left",
            va="center_baseline",
            color=FAINT if faint else judged if head in ("change", "limit") else INK,
            fontweight="bold" if row and head == "change" else "normal",
            transform=across,
        ).set_in_layout(False)


def _colour(check: LimitCheck | None) -> str:
    return INK if check is None else RUST if check.failed else BLUE


def _changes(axes: "Axes", drift: Drift, limits: Limits) -> None:
    """Every change in units of its limit; a limit of 0 stands at 0, in units of the usual one."""
    checks = check_limits(drift, limits)
    axes.axvline(0, color=FAINT, linewidth=1, zorder=1)
    for row, check in enumerate(checks):
        limit, unit = (1, check.size) if check.size else (0, getattr(DEFAULT_LIMITS, check.name))
        value, low, high = (
            np.clip(check.harm * change / unit, -2 * REACH, 2 * REACH)
            for change in (check.change, check.interval.low, check.interval.high)
        )
        axes.barh(row, limit + REACH, 1, left=-REACH, color=GRID, zorder=0)
        axes.plot([limit] * 2, [row - 0.5, row + 0.5], color=RUST, linewidth=1.5, linestyle="--")
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


def _flips(axes: "Axes", drift: Drift) -> None:
    measured = [(each.name, each.flips) for each in drift.per_class if each.flips][:MOST_CLASSES]
    names = [name for name, _ in measured]
    broken = np.array([100 * flips.broken for _, flips in measured])
    mended = np.array([100 * flips.mended for _, flips in measured])
    rates = np.array([100 * flips.rate for _, flips in measured])
    sideways = rates - broken - mended
    axes.barh(names, broken, color=ORANGE, hatch="////", edgecolor="white", label="right to wrong")
    axes.barh(names, sideways, left=broken, color=BAR, label="wrong to wrong")
    axes.barh(names, mended, left=broken + sideways, color=SKY, label="wrong to right")
    axes.set(xlim=(0, max(1.0, min(100.0, 1.05 * rates.max()))), ylim=(len(names) - 0.4, -0.6))
    axes.set_xlabel("% of the emotion's faces")
    axes.set_title("Faces whose emotion changed" if rates.any() else "No face's emotion changed")
    # Under the axis and its label, where no bar can reach it.
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=3.8, ncols=3, fontsize=8.5
    )


def _told(drift: Drift, verdict: Verdict) -> list[tuple[str, str]]:
    """Name and words, line by line; a line that goes on has no name."""
    doubts = [("unsure", doubt) for doubt in verdict.unsure]
    return [
        (name if row == 0 else "", line)
        for name, words in (*facts(drift), *doubts)
        for row, line in enumerate(_wrapped(words, 132))
    ]


def _footer(figure: "Figure", told: list[tuple[str, str]]) -> None:
    height = figure.get_figheight()
    for row, (name, line) in enumerate(reversed(told)):
        bottom = (0.12 + LINE * row) / height
        figure.text(0.012, bottom, name, color=FAINT)
        figure.text(0.1, bottom, line)
