"""The checks as a terminal report: the verdict, then one line per check with its fix."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from calib.reports.widgets import FAINT, Mark, Report, heading, panel, title
from rankotom_edge.doctor.check import Check


@dataclass(frozen=True)
class AbsentMark:
    """The mark of a failed check that is optional."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._text(options)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self._text(options))

    def _text(self, options: ConsoleOptions) -> Text:
        # As wide as Mark, in whose column it stands.
        return Text("--" if options.ascii_only else "–", style=FAINT)


def doctor_report(
    machine: str,
    sections: Mapping[str, Sequence[Check]],
    verdict_on: Callable[[Sequence[Check]], RenderableType] | None = None,
) -> RenderableType:
    checks = [check for group in sections.values() for check in group]
    width = max(len(check.name) for check in checks)
    headline = (verdict_on or verdict)(checks)
    parts: list[RenderableType] = [title("rankotom-edge doctor", machine), headline]
    for name, group in sections.items():
        parts += [heading(name), _lines(group, width)]
    return Report(tuple(parts))


def verdict(checks: Sequence[Check]) -> RenderableType:
    broken = [check for check in checks if check.level == "needed" and not check.ok]
    absent = [check.name for check in checks if check.level == "optional" and not check.ok]
    if broken:
        # The demo needs all the others, so it fails with any of them and is not the cause.
        causes = [check for check in broken if check.name != "demo"] or broken
        only_source = all(check.name == "source" for check in broken)
        headline = (
            "This machine reads faces, but not from that source"
            if only_source
            else "This machine cannot read faces yet"
        )
        return panel(False, headline, [f"{check.name}: {check.fix}" for check in causes])
    lines = [f"not available, and not needed: {', '.join(absent)}"] if absent else []
    return panel(True, "This machine reads faces", lines)


def private_verdict(checks: Sequence[Check]) -> RenderableType:
    if any(check.name == "watched" for check in checks):
        return panel(False, "It could not be watched", [])
    if all(check.ok for check in checks):
        return panel(True, "Nothing left this machine, and nothing was written", [])
    return panel(False, "Not private: the calls below are not expected", [])


def _lines(checks: Sequence[Check], width: int) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, min_width=width)
    table.add_column(ratio=1, overflow="fold")
    table.add_column(justify="right", no_wrap=True, style=FAINT)
    for check in checks:
        mark = Mark(check.ok) if check.ok or check.level == "needed" else AbsentMark()
        table.add_row(mark, Text(check.name), _words(check), duration(check.ms))
    return table


def _words(check: Check) -> RenderableType:
    detail = Text(check.detail, style="" if check.ok or check.level == "needed" else FAINT)
    if check.fix is None:
        return detail
    fix = Table.grid(padding=(0, 1, 0, 0))
    fix.add_column(no_wrap=True)
    fix.add_column(overflow="fold")
    fix.add_row(
        Text("→", style=FAINT), Text(check.fix, style="bold" if check.level == "needed" else "")
    )
    return Group(detail, fix)


def duration(ms: float) -> str:
    return f"{ms / 1000:.1f} s" if ms >= 1000 else f"{ms:.0f} ms"
