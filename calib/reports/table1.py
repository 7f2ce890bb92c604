"""Table 1 as a terminal table, Markdown, JSON and a plot, from the results of its runs."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import RenderableType
from rich.table import Table

from calib.evaluation import Estimate
from calib.files import replace_file
from calib.intervals import Interval
from calib.reports.number_text import NAMES
from calib.reports.plots import BLUE, FAINT, GRID, INK, ORANGE, RUST, SKY, plot_file
from calib.reports.widgets import FirstThatFits, Report, heading, note, plain_table
from calib.resampling import Floor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The paper's Table 1, in per cent.
PAPER_METRICS = ("accuracy", "aece", "mce", "ece")
PAPER: Mapping[str, Mapping[str, tuple[float, float, float, float]]] = {
    "rafdb": {
        "SCN": (88.72, 5.51, 18.18, 5.46),
        "EAC": (89.96, 6.23, 34.48, 4.87),
        "RAC": (92.11, 25.40, 27.40, 25.39),
        "Rank-O-ToM, paper": (95.00, 3.06, 3.19, 2.74),
    },
    "ferplus": {
        "SCN": (79.32, 15.79, 34.94, 15.84),
        "EAC": (83.99, 12.64, 36.16, 12.71),
        "RAC": (85.92, 19.16, 24.50, 19.73),
        "Rank-O-ToM, paper": (86.44, 9.57, 18.08, 9.59),
    },
    "affectnet": {
        "SCN": (48.31, 21.20, 13.56, 21.21),
        "EAC": (52.26, 25.91, 0.98, 25.92),
        "RAC": (54.14, 9.03, 11.39, 9.20),
        "Rank-O-ToM, paper": (54.84, 10.28, 10.47, 5.93),
    },
}
# FERPlus's test pictures were kept apart, and the paper names neither a network nor its start.
PROTOCOL = (
    "The paper's figures are of other pictures (its test part), and of a network, start, input "
    "size and length of training that it does not name: compare the order of the rows, not the "
    "numbers."
)
DATASETS = {"ferplus": "FERPlus", "rafdb": "RAF-DB", "affectnet": "AffectNet"}
STARTS = {"random": "random weights", "faces": "a face recogniser's weights"}
RAW = ("accuracy", "mean_recall", "ece", "aece", "mce", "mce50", "nll", "brier")
SCALED = ("temperature", "ece", "aece", "mce", "mce50", "nll", "brier")
OTHER = ("top2_match", "clear_order", "order")
TITLES = {
    **{name: title for name, (title, _) in NAMES.items()},
    "temperature": "T",
    "clear_order": "clear pairs",
    "order": "all pairs",
}
NOT_SHARES = ("nll", "brier", "temperature")


@dataclass(frozen=True)
class RunResult:
    """One run on the reporting half: ``raw`` as trained, ``scaled`` at the temperature of the
    choosing half. ``clear_order`` and ``order`` are shares of (face, blend) pairs, at that
    temperature."""

    row: str
    seed: int
    raw: Mapping[str, Estimate]
    scaled: Mapping[str, Estimate]

    def as_json(self) -> dict[str, Any]:
        return {
            "row": self.row,
            "seed": self.seed,
            **{name: estimates_json(getattr(self, name)) for name in ("raw", "scaled")},
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> "RunResult":
        raw, scaled = (read_estimates(saved[name]) for name in ("raw", "scaled"))
        return cls(saved["row"], saved["seed"], raw, scaled)


@dataclass(frozen=True)
class Table1:
    """All runs from one start, and what they had in common."""

    setting: Mapping[str, Any]  # dataset, start, network, faces, epochs, measured_on ...
    results: tuple[RunResult, ...]
    step_seconds: Mapping[str, float]  # by row

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(result.row for result in self.results))

    def runs(self, row: str) -> list[RunResult]:
        return [result for result in self.results if result.row == row]

    @property
    def caption(self) -> str:
        about, seeds = self.setting, len({result.seed for result in self.results})
        return (
            f"{DATASETS[about['dataset']]}, {about['faces']:,} faces to train on; "
            f"{about['network']} from {STARTS[about['start']]}, "
            f"{counted(about['epochs'], 'epoch')} of {about['steps']} steps of "
            f"{about['batch']} faces, {counted(seeds, 'seed')}; "
            f"measured on {about['measured']:,} other faces, one view"
        )

    def as_json(self) -> dict[str, Any]:
        paper = {
            row: dict(zip(PAPER_METRICS, figures, strict=True))
            for row, figures in PAPER[self.setting["dataset"]].items()
        }
        return {
            "setting": dict(self.setting),
            "results": [result.as_json() for result in self.results],
            "step_seconds": dict(self.step_seconds),
            "paper": {"percent": paper, "note": PROTOCOL},
        }

    @classmethod
    def read(cls, path: Path) -> "Table1":
        saved = json.loads(path.read_text())
        results = tuple(map(RunResult.from_json, saved["results"]))
        return cls(saved["setting"], results, saved["step_seconds"])


def estimates_json(estimates: Mapping[str, Estimate]) -> dict[str, Any]:
    return {
        name: {
            "value": each.value,
            "interval": each.interval and [each.interval.low, each.interval.high],
            "floor": each.floor and [each.floor.mean, each.floor.p95],
        }
        for name, each in estimates.items()
    }


def read_estimates(saved: Mapping[str, Any]) -> dict[str, Estimate]:
    return {
        name: Estimate(
            each["value"],
            Interval(*each["interval"]) if each["interval"] else None,
            Floor(*each["floor"]) if each["floor"] else None,
        )
        for name, each in saved.items()
    }


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def number(name: str, value: float) -> str:
    if name in NOT_SHARES:
        return f"{value:.2f}" if name == "temperature" else f"{value:.3f}"
    return f"{100 * value:.1f}"


def cell(estimates: Sequence[Estimate], name: str, separator: str | None) -> str:
    """The mean over the seeds; the lowest and highest seed; and from the lowest lower to the
    highest upper end of their 95 % intervals. Without a separator the mean alone."""
    values = [each.value for each in estimates if each.value is not None]
    if not values:
        return "–"
    lines = [number(name, float(np.mean(values)))]
    if separator is None:
        return lines[0]
    if len(values) > 1:
        lines.append(f"{number(name, min(values))} to {number(name, max(values))}")
    intervals = [each.interval for each in estimates if each.interval is not None]
    if intervals:
        low, high = min(each.low for each in intervals), max(each.high for each in intervals)
        lines.append(f"[{number(name, low)}, {number(name, high)}]")
    return separator.join(lines)


Cells = Callable[[str], list[str]]


def sections(table: Table1, separator: str | None) -> Iterable[tuple[str, list[str], Cells]]:
    """Title, heads and the cells of a row, for each of the three parts of the table."""
    paper = PAPER[table.setting["dataset"]]

    def cells(row: str, which: str, names: Iterable[str]) -> list[str]:
        runs = [getattr(result, which) for result in table.runs(row)]
        return [
            cell([each.get(name, Estimate(None)) for each in runs], name, separator)
            for name in names
        ]

    def raw(row: str) -> list[str]:
        return cells(row, "raw", RAW)

    def raw_and_paper(row: str) -> list[str]:
        return [*raw(row), " / ".join(f"{each:.2f}" for each in paper.get(row, ()))]

    def others(row: str) -> list[str]:
        seconds = table.step_seconds[row]
        ratio = seconds / table.step_seconds[table.rows[0]]
        return [*cells(row, "scaled", OTHER), f"{seconds:.2f}", f"{ratio:.1f}"]

    if separator is None:
        yield "As trained", heads(RAW), raw
    else:
        columns = [*heads(RAW), "the paper: accuracy / AECE / MCE / ECE"]
        yield "As trained", columns, raw_and_paper
    yield (
        "At the temperature of the choosing half",
        heads(SCALED),
        lambda row: cells(row, "scaled", SCALED),
    )
    first = table.rows[0]
    yield "Blends and cost", [*heads(OTHER), "seconds a step", f"times {first}"], others


def heads(names: Iterable[str]) -> list[str]:
    return [TITLES[name] + ("" if name in NOT_SHARES else " %") for name in names]


def markdown(table: Table1) -> str:
    """For docs/results.md: mean, seeds and interval below each other in a cell."""
    parts = [f"{table.caption}.", ""]
    for title, columns, cells in sections(table, "<br>"):
        lines = [["", *columns], ["---"] * (len(columns) + 1)]
        lines += [[row, *cells(row)] for row in table.rows]
        parts += [f"**{title}**", "", *(f"| {' | '.join(line)} |" for line in lines), ""]
    return "\n".join([*parts, PROTOCOL])


def body(table: Table1, columns: Sequence[str], cells: Cells) -> Table:
    shown = plain_table(("", "right"), *((name, "right") for name in columns))
    shown.columns[0].justify = "left"
    for row in table.rows:
        shown.add_row(row, *cells(row))
    return shown


def report(table: Table1) -> RenderableType:
    parts: list[RenderableType] = [heading("Table 1"), note(table.caption)]
    whole, narrow = (list(sections(table, separator)) for separator in ("\n", None))
    for (title, columns, cells), (_, heads_of_means, means) in zip(whole, narrow, strict=True):
        stacked = [name.replace(" ", "\n") for name in heads_of_means]  # for 80 columns
        fitting = FirstThatFits((body(table, columns, cells), body(table, stacked, means)))
        parts += [heading(title), fitting]
    parts += [
        note(
            "mean over the seeds; where there is room also the lowest to the highest seed, and "
            "[95 % intervals of all seeds]"
        ),
    ]
    in_paper = paper_table(table)
    if in_paper.row_count:
        parts += [heading("In the paper"), in_paper, note(PROTOCOL)]
    return Report(tuple(parts))


def paper_table(table: Table1) -> Table:
    paper = PAPER[table.setting["dataset"]]
    shown = plain_table(("", "left"), *((name, "right") for name in heads(PAPER_METRICS)))
    for row in table.rows:
        if row in paper:
            shown.add_row(row, *(f"{each:.2f}" for each in paper[row]))
    return shown


COLOURS = (INK, "#6a3d9a", FAINT, BLUE, SKY, RUST, ORANGE, "#009e73", "#cc79a7", "#8a6d00")


def draw_plot(table: Table1, path: Path) -> None:
    """Accuracy against ECE, a point a seed: as trained, and at the temperature."""
    with plot_file(path, (11, 5.2)) as figure:
        figure.set_layout_engine("constrained")
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        panels = (("As trained", "raw"), ("At the temperature of the choosing half", "scaled"))
        for panel, (title, which) in zip(axes, panels, strict=True):
            for row, colour in zip(table.rows, cycle(COLOURS), strict=False):
                draw_row(panel, row, colour, [getattr(run, which) for run in table.runs(row)])
            panel.set(title=title, xlabel="accuracy, % (better to the right)")
            draw_floor(panel, [getattr(run, which) for run in table.results])
            panel.set_yscale("log")
            panel.grid(color=GRID, which="both", zorder=0)
        axes[0].set_ylabel("ECE, % (better below)")
        ticks = (1, 2, 5, 10, 20, 40)
        axes[0].set_yticks(ticks, [str(each) for each in ticks])
        axes[0].minorticks_off()
        axes[1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)


def draw_floor(panel: "Axes", runs: Sequence[Mapping[str, Estimate]]) -> None:
    """Below it a run is as well calibrated as this number of faces can show."""
    highest = [each["ece"].floor.p95 for each in runs if each["ece"].floor is not None]
    if highest:
        panel.axhline(
            100 * float(np.median(highest)),
            color=FAINT,
            linewidth=1,
            linestyle=(0, (4, 3)),
            label="perfect calibration,\nby chance (p95)",
        )


def draw_row(panel: "Axes", row: str, colour: str, runs: Sequence[Mapping[str, Estimate]]) -> None:
    accuracy, error = (
        [100 * value for each in runs if (value := each[name].value) is not None]
        for name in ("accuracy", "ece")
    )
    marker = "D" if row.startswith("Rank-O-ToM") else "o"
    panel.plot(accuracy, error, color=colour, linewidth=0.8, alpha=0.6, zorder=2)
    panel.plot(accuracy, error, marker, color=colour, markersize=7, label=row, zorder=3)


def write(table: Table1, json_file: Path | None, plot: Path | None) -> None:
    if json_file is not None:
        with replace_file(json_file) as file:
            file.write_text(json.dumps(table.as_json(), indent=1) + "\n")
    if plot is not None:
        draw_plot(table, plot)
