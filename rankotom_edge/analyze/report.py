"""The summary as a terminal report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table

from calib.reports.number_text import interval_text, percent
from calib.reports.widgets import Report, heading, note, panel, plain_table, title
from rankotom_edge.analyze.summary import Summary
from rankotom_edge.views.run_summary import clock
from rankotom_edge.views.wording import UNSURE

LISTED = 10  # videos or reasons; the summary as JSON has all. Chosen by eye


def analysis_report(summary: Summary, tables: Path) -> RenderableType:
    parts: list[RenderableType] = [
        title("rankotom-edge analyze", _counted(summary)),
        _verdict(summary, tables),
    ]
    if summary.expressions:
        parts += [
            heading("Time of all faces"),
            _times(summary),
            note(
                "Episodes count for the interval, not frames: an episode is one face with one "
                "expression. A blend counts as its larger part."
            ),
        ]
    if any(summary.statistics.reasons.values()):
        parts += [heading("Why unsure"), _reasons(summary)]
    parts += [heading("Confidence"), note(summary.drift.words)]
    if summary.problems:
        parts += [heading("Read in part"), _listed(summary.problems)]
    return Report(tuple(parts))


def _counted(summary: Summary) -> str:
    statistics = summary.statistics
    faces = int(statistics.faces)
    return (
        f"{_videos(summary.videos)}, {clock(statistics.seconds)}, {int(statistics.frames):,} "
        f"frames, {faces:,} {'face' if faces == 1 else 'faces'}"
    )


def _verdict(summary: Summary, tables: Path) -> RenderableType:
    where = f"the tables are in {tables}"
    if not summary.failed:
        return panel(True, f"{_videos(summary.videos)} read", [where])
    shown = list(summary.failed.items())[:LISTED]
    lines = [f"{name}: {reason}" for name, reason in shown]
    if len(summary.failed) > LISTED:
        lines.append(f"and {len(summary.failed) - LISTED:,} more")
    headline = f"{_videos(len(summary.failed))} could not be read, {summary.videos:,} could"
    return panel(False, headline, [*lines, where])


def _times(summary: Summary) -> Table:
    table = plain_table(
        ("", "left"), ("time", "right"), ("share", "right"), ("95 % interval", "right"),
        ("episodes", "right"),
    )  # fmt: skip
    for each in summary.expressions:
        table.add_row(
            each.name,
            clock(each.seconds),
            percent(each.share),
            interval_text(each.interval, 1),
            f"{each.episodes:,}",
        )
    return table


def _reasons(summary: Summary) -> Table:
    table = plain_table(("", "left"), ("time", "right"), (f"of {UNSURE}", "right"))
    reasons = sorted(summary.statistics.reasons.items(), key=lambda item: (-item[1], item[0]))
    unsure = sum(seconds for _, seconds in reasons)
    for reason, seconds in reasons[:LISTED]:
        table.add_row(reason, clock(seconds), percent(seconds / unsure))
    return table


def _listed(problems: Mapping[str, str]) -> RenderableType:
    lines = [f"{name}: {problem}" for name, problem in list(problems.items())[:LISTED]]
    if len(problems) > LISTED:
        lines.append(f"and {len(problems) - LISTED:,} more")
    return note("\n".join(lines))


def _videos(count: int) -> str:
    return "1 video" if count == 1 else f"{count:,} videos"
