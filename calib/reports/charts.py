"""Charts in characters for the terminal: reliability diagram, interval plot and heatmap.

Each colour has its own character too, so that nothing is lost without colour (``NO_COLOR``, a
pipe, a log file).
"""

from dataclasses import dataclass

import numpy as np
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.measure import Measurement
from rich.style import Style
from rich.table import Table
from rich.text import Text

from calib.blends import CompoundHeatmap
from calib.intervals import Interval
from calib.limits import LimitCheck
from calib.metrics import LARGE_BIN, Bin
from calib.reports.number_text import percent, points
from calib.reports.widgets import BAR, BLUE, FAINT, ORANGE

RIGHT, OVER, UNDER, DIAGONAL, NO_FACES = "█", "▓", "▒", "┃", "╎"
NARROWEST_BAR = 11  # the live terminal of 60 columns has this much beside a face
WIDEST_GAP = "−100.0"
HEATMAP_ROWS = 12
SHOWN_CLASSES = 24  # in a table or a plot; the JSON has all
# "[40]" and a space.
HEAT_CELL = 5


def gap_style(gap: float | None) -> str:
    return ORANGE if gap is not None and gap < 0 else BLUE


@dataclass(frozen=True)
class ReliabilityDiagram:
    """A bar per bin, the most confident on top: how often faces at that confidence were right.

    The marks of perfect calibration form the diagonal. A bar that falls short of it shows
    over-confidence, one that passes it under-confidence. Bins with fewer faces than ``large`` are
    faint.
    """

    bins: tuple[Bin, ...]
    compact: bool = False
    large: int = LARGE_BIN

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = self._bar_width(options.max_width)
        heads, sides = self._heads()
        table = Table.grid(padding=(0, 1))
        for side in sides:
            table.add_column(justify=side, no_wrap=True)
        table.columns[-2].min_width = len(WIDEST_GAP)
        table.add_row(*(Text(head, style=FAINT) for head in heads))
        for bin_ in reversed(self.bins):
            table.add_row(*self._cells(bin_, width))
        table.add_row("", axis(width))
        yield table

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(self._fixed_width() + NARROWEST_BAR, options.max_width)

    def _heads(self) -> tuple[list[str], list[JustifyMethod]]:
        if self.compact:
            return ["shown", "right", "gap", "faces"], ["right", "left", "right", "right"]
        heads = ["shown at", "how often that was right", "right", "gap", "faces"]
        return heads, ["right", "left", "right", "right", "right"]

    def _cells(self, bin_: Bin, width: int) -> list[Text]:
        label = f"{100 * bin_.low:.0f}–{100 * bin_.high:.0f}"
        style = FAINT if bin_.count < self.large else ""
        bar, count = reliability_bar(bin_, width, self.large), Text(f"{bin_.count:,}", style=style)
        gap = Text(points(bin_.gap), style=style or gap_style(bin_.gap))
        if self.compact:
            return [Text(label, style=style), bar, gap, count]
        right = Text(percent(bin_.accuracy), style=style)
        return [Text(f"{label} %", style=style), bar, right, gap, count]

    def _fixed_width(self) -> int:
        """The width of everything except the bar, with one space between columns."""
        count = max(len("faces"), *(len(f"{bin_.count:,}") for bin_ in self.bins))
        if self.compact:
            return len("93–100") + len(WIDEST_GAP) + count + 3
        return len("shown at") + len("100.0 %") + len(WIDEST_GAP) + count + 4

    def _bar_width(self, available: int) -> int:
        return max(NARROWEST_BAR, available - self._fixed_width() - 1)


def reliability_bar(bin_: Bin, width: int, large: int = LARGE_BIN) -> Text:
    """``width`` cells for 0 to 100 %, and one more for the mark of the diagonal.

    The gap is rounded as a whole: rounding both its ends could draw a tenth of a point as a cell.
    """
    if bin_.confidence is None or bin_.accuracy is None:
        mark = round((bin_.low + bin_.high) / 2 * width)
        return Text(" " * mark + NO_FACES, style=FAINT)
    mark = round(bin_.confidence * width)
    gap = min(round((bin_.accuracy - bin_.confidence) * width), width - mark)
    weight = "dim " if bin_.count < large else ""
    return Text.assemble(
        (RIGHT * min(mark, mark + gap), weight + BAR),
        (OVER * -gap, weight + ORANGE),
        (DIAGONAL, "bold"),
        (UNDER * gap, weight + BLUE),
    )


def axis(width: int) -> Text:
    """0, 50 and 100 under their cells."""
    middle = " " * (width // 2 - 2) + "50"
    return Text(f"0{middle}{'100 %':>{width + 1 - len(middle) - 1}}", style=FAINT)


def legend() -> Text:
    text = Text()
    for character, style, meaning in (
        (RIGHT, BAR, "right"),
        (OVER, ORANGE, "too sure"),
        (UNDER, BLUE, "not sure enough"),
        (DIAGONAL, "bold", "perfect calibration"),
    ):
        text.append(character * (1 if character == DIAGONAL else 2), style=style)
        text.append(f" {meaning}   ", style=FAINT)
    text.rstrip()
    return text


@dataclass(frozen=True)
class IntervalPlot:
    """A change and its interval on a line with marks at 0 and at the limit.

    The line reaches to twice the limit, so that the limits of all metrics align in one column.
    """

    change: float
    interval: Interval | None
    check: LimitCheck | None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.line(options.max_width)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(9, options.max_width)

    def line(self, width: int) -> Text:
        width -= 1 - width % 2
        centre, reach = width // 2, self._reach()

        def cell(value: float) -> int:
            return max(0, min(width - 1, centre + round(value / reach * centre)))

        colour = ORANGE if self.check and self.check.failed else BLUE
        cells = [(" ", "")] * width
        if self.interval is not None:
            for index in range(cell(self.interval.low), cell(self.interval.high) + 1):
                cells[index] = ("─", colour)
        cells[centre] = ("┼" if cells[centre][0] == "─" else "│", FAINT)
        dot = "●" if abs(self.change) <= reach else "◀" if self.change < 0 else "▶"
        if self.check is not None:
            limit = cell(self.check.limit)
            cells[limit] = ("┋", ORANGE)
            dot = "◉" if limit == cell(self.change) else dot
        cells[cell(self.change)] = (dot, f"bold {colour}")
        return Text.assemble(*cells)

    def _reach(self) -> float:
        if self.check is not None and self.check.size > 0:
            return 2 * self.check.size
        ends = (self.interval.low, self.interval.high) if self.interval else ()
        return 1.25 * max(abs(value) for value in (self.change, *ends)) or 1.0


@dataclass(frozen=True)
class Heatmap:
    """The paper's heatmap; the two emotions of each row's blend are framed.

    On a narrow terminal, names are shortened and the least important emotions are left out.
    """

    compounds: CompoundHeatmap

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        everything = self.compounds.columns
        names = min(self._widest_name(), options.max_width // 3)
        room = options.max_width - names - len("faces") - len("100 %") - 3
        columns = self._columns(max(1, room // HEAT_CELL))
        cell = min(room // len(columns), max(len(name) for name in everything) + 2)
        table = Table.grid(padding=0)
        table.add_column(no_wrap=True, width=names + 1)
        table.add_column(no_wrap=True, justify="right", width=len("faces"))
        table.add_column(width=1)
        for _ in columns:
            table.add_column(justify="center", width=cell)
        table.add_column(no_wrap=True, justify="right", width=len("100 %") + 1)
        shorts = (short_name(everything[column], cell - 1) for column in columns)
        heads = ["people saw", "faces", "", *shorts, "both"]
        table.add_row(*(Text(head, style=FAINT) for head in heads))
        for row in range(self._rows()):
            table.add_row(*self._cells(row, columns, cell))
        yield table
        if len(columns) < len(everything):
            yield Text(
                f"{len(columns)} of {len(everything)} emotions fit here; the rest are in the JSON.",
                style=FAINT,
            )

    def _rows(self) -> int:
        return min(HEATMAP_ROWS, len(self.compounds.rows))

    def _widest_name(self) -> int:
        return max(len(name) for name in ("people saw", *self.compounds.rows[:HEATMAP_ROWS]))

    def _columns(self, most: int) -> list[int]:
        """The emotions of the most common blends, then those with the highest mean confidence."""
        framed = [column for pair in self.compounds.constituents[: self._rows()] for column in pair]
        likeliest = np.argsort(
            -self.compounds.confidence[: self._rows()].sum(axis=0), kind="stable"
        )
        return sorted(list(dict.fromkeys([*framed, *likeliest.tolist()]))[:most])

    def _cells(self, row: int, columns: list[int], width: int) -> list[Text]:
        framed = self.compounds.constituents[row]
        shares = self.compounds.confidence[row]
        return [
            Text(self.compounds.rows[row]),
            Text(f"{self.compounds.counts[row]:,}"),
            Text(""),
            *(heat_cell(float(shares[column]), column in framed, width) for column in columns),
            Text(percent(self.compounds.matches[row], 0), style=FAINT),
        ]


def short_name(name: str, room: int) -> str:
    """One line per word; a word that does not fit becomes its first three letters and a dot."""
    if len(name) <= room:
        return name
    return "\n".join(word if len(word) <= room else f"{word[:3]}." for word in name.split())


def heat_cell(share: float, framed: bool, width: int) -> Text:
    """Per cent, on a background from the terminal's own to blue; brackets are the frame."""
    number = f"{100 * share:.0f}"
    text = f"[{number:>2}]" if framed else number
    return Text(f"{text:^{width}}", style=Style.parse("bold" if framed else "") + heat_style(share))


def heat_style(share: float) -> Style:
    """Six steps of one hue from dark to light, with black text on the light ones."""
    if share < 0.05:
        return Style.parse(FAINT)
    steps = ("#12293b", "#1d4463", "#2a628d", "#3a86bb", "#56b4e9", "#9ad3f3")
    step = min(len(steps) - 1, int(share * 10))
    return Style.parse(f"{'black' if step >= 4 else 'white'} on {steps[step]}")
