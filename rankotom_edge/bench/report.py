"""The results of ``rankotom-edge bench`` as terminal report, JSON and plot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from calib.reports.widgets import Report, heading, note, plain_table, title
from rankotom_edge.bench.loop_cost import PERCENTILES, STAGES, LoopCost
from rankotom_edge.bench.model_comparison import BATCHES, Comparison
from rankotom_edge.model.artifact import Artifact

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import RenderableType

STAGE_WORDS = {
    "detect": "detect, when called",
    "follow": "follow",
    "crop": "crop and smooth",
    "classify": "classify",
    "capture_to_reading": "capture to reading",
    "loop": "whole loop",
}


@dataclass(frozen=True)
class BenchResult:
    source: str
    provider: str
    model: Artifact
    against: Artifact
    cost: LoopCost
    comparisons: tuple[Comparison, ...]

    @property
    def names(self) -> tuple[str, str]:
        """The paths, if both models have the same name."""
        if self.model.card.name != self.against.card.name:
            return self.model.card.name, self.against.card.name
        return str(self.model.path), str(self.against.path)

    def as_json(self) -> dict[str, object]:
        return {
            "source": self.source,
            "provider": self.provider,
            "model": self.model.summary(),
            "against": self.against.summary(),
            **self.cost.as_json(),
            "comparison": [each.as_json() for each in self.comparisons],
        }


def bench_report(result: BenchResult) -> RenderableType:
    cost, (model, against) = result.cost, result.names
    stages = plain_table(
        ("milliseconds", "left"), *((f"p{percent}", "right") for percent in PERCENTILES),
        ("frames", "right"),
    )  # fmt: skip
    for stage in STAGES:
        spent = [cost.percentile(stage, percent) for percent in PERCENTILES]
        stages.add_row(
            STAGE_WORDS[stage],
            *("–" if time is None else f"{time:.2f}" for time in spent),
            f"{len(cost.times(stage)):,}",
        )
    comparison = plain_table(
        ("milliseconds", "left"), ("threads", "right"), (model, "right"), (against, "right"),
        ("speedup", "right"),
    )  # fmt: skip
    for each in sorted(result.comparisons, key=lambda each: (each.faces, each.threads)):
        comparison.add_row(
            faces_words(each.faces) if each.threads == 1 else "",
            str(each.threads),
            f"{each.model:.2f}",
            f"{each.against:.2f}",
            f"{each.speedup:.2f} x",
        )
    return Report(
        (
            title(model, f"on {result.source}, {result.provider}"),
            heading(f"{cost.fps:.0f} frames a second"),
            stages,
            note(
                f"The loop took {cost.ratio:.2f} times as long as its detector and classifier "
                f"calls, and {cost.cpu / len(cost.frames):.1f} ms of CPU time a frame."
            ),
            heading(f"Compared with {against}, on the CPU"),
            comparison,
            note("Medians. Other programs slow both models: go by the speedup."),
        )
    )


def faces_words(count: int) -> str:
    return "one face" if count == 1 else f"{count} faces at once"


def plot_bench(result: BenchResult, path: Path) -> None:
    from calib.reports.plots import INK, add_headline, plot_file

    cost, (model, against) = result.cost, result.names
    alone = next(each for each in result.comparisons if (each.faces, each.threads) == (1, 1))
    with plot_file(path, (11.5, 5.2)) as figure:
        add_headline(
            figure,
            f"{model} on {result.source}, {result.provider}",
            f"{cost.fps:.0f} frames a second; {alone.speedup:.2f} times as fast as {against} for "
            "one face on one thread.",
            INK,
        )
        axes = figure.subplot_mosaic([["stages", "models"]], width_ratios=[1.25, 1])
        _plot_stages(axes["stages"], cost)
        _plot_models(axes["models"], result)


def _plot_stages(axes: Axes, cost: LoopCost) -> None:
    """p5 to p95 as a bar, with the median and p99."""
    from calib.reports.plots import BAR, BLUE, FAINT, GRID, RUST

    shown = [stage for stage in STAGES if cost.times(stage)]
    for row, stage in enumerate(shown):
        low, middle, high, highest = (cost.percentile(stage, at) or 0.0 for at in (5, 50, 95, 99))
        axes.barh(row, high - low, left=low, height=0.56, color=BAR, zorder=2)
        axes.plot(middle, row, "o", color=BLUE, markersize=7, zorder=3)
        axes.plot(highest, row, "|", color=RUST, markersize=13, markeredgewidth=2, zorder=3)
        axes.annotate(
            f"{middle:.1f}", (middle, row), (0, 14), textcoords="offset points", ha="center",
            fontsize=8.5, color=FAINT,
        )  # fmt: skip
    axes.set_yticks(range(len(shown)), [STAGE_WORDS[stage] for stage in shown])
    axes.set(ylim=(len(shown) - 0.5, -0.7), xlim=(0, None))
    axes.set_xlabel("ms; ● p50, bar p5 to p95, | p99")
    axes.set_title("Time per frame, by stage")
    axes.grid(axis="x", color=GRID, zorder=0)


def _plot_models(axes: Axes, result: BenchResult) -> None:
    """Milliseconds per face over the number of threads."""
    from calib.reports.plots import BLUE, GRID, ORANGE

    for faces, line in zip(BATCHES, ("-", "--"), strict=True):
        rows = [each for each in result.comparisons if each.faces == faces]
        threads = [each.threads for each in rows]
        for name, colour, times in (
            (result.names[0], BLUE, [each.model / faces for each in rows]),
            (result.names[1], ORANGE, [each.against / faces for each in rows]),
        ):
            label = f"{name}, {faces_words(faces)}"
            axes.plot(threads, times, line, color=colour, marker="o", label=label)
    axes.set_xticks(threads, [str(count) for count in threads])
    axes.set(ylim=(0, None), xlabel="threads", ylabel="ms a face")
    axes.set_title("The models on the CPU")
    axes.grid(color=GRID, zorder=0)
    axes.legend(fontsize=8.5)
