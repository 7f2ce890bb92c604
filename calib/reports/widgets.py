"""The rich widgets that reports are made of: titles, notes, marks, panels and tables."""

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

# Okabe and Ito's colours, which every kind of colour vision can distinguish.
BLUE = "#56b4e9"
ORANGE = "#e69f00"
BAR = "#5b6573"
FAINT = "#7d8794"

# One character for one character, so that nothing moves.
ASCII = str.maketrans("█▓▒░▇▄▀┃╎┋│┼─●◉◀▶→–−…", "#x+.###|:!|+-o@<>>--.")


@dataclass(frozen=True)
class Report:
    """Parts stacked vertically, in ASCII where the terminal has no Unicode."""

    parts: tuple[RenderableType, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(Group(*self.parts), options):
            plain = segment.text.translate(ASCII) if options.ascii_only else segment.text
            yield segment._replace(text=plain)


@dataclass(frozen=True)
class Mark:
    """Good or bad as a character and a colour, with optional words around it."""

    good: bool
    before: str = ""
    after: str = ""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._text(options)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement.get(console, options, self._text(options))

    def _text(self, options: ConsoleOptions) -> Text:
        good, bad = ("ok", "NO") if options.ascii_only else ("✓", "✗")
        mark, colour = (good, BLUE) if self.good else (bad, ORANGE)
        return Text(f"{self.before}{mark}{self.after}", style=colour)


@dataclass(frozen=True)
class FirstThatFits:
    """The first table that fits the width, else the last."""

    tables: tuple[Table, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        unlimited = options.update_width(1000)
        for table in self.tables[:-1]:
            if Measurement.get(console, unlimited, table).maximum <= options.max_width:
                yield table
                return
        yield self.tables[-1]


def title(name: str, faces: str) -> RenderableType:
    words = Text.assemble((name, "bold"), "  ", (faces, FAINT))
    return Padding(Rule(words, align="left", style=FAINT), (1, 0, 0, 0))


def heading(words: str) -> RenderableType:
    return Padding(Text(words, style="bold"), (1, 0, 0, 0))


def note(words: str) -> RenderableType:
    return Text(words, style=FAINT)


def panel(good: bool, headline: str, lines: Iterable[str] = ()) -> RenderableType:
    rows = Table.grid(padding=(0, 1))
    rows.add_column(no_wrap=True)
    rows.add_column()
    rows.add_row(Mark(good), Text(headline, style="bold"))
    for line in lines:
        rows.add_row("", Text(line))
    return Panel(rows, border_style=BLUE if good else ORANGE, padding=(0, 1))


def plain_table(*columns: tuple[str, JustifyMethod]) -> Table:
    """Left-aligned columns (words) wrap where the terminal is narrow; right-aligned ones (numbers)
    never do."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=FAINT)
    for name, side in columns:
        table.add_column(name, justify=side, no_wrap=side == "right", overflow="fold")
    return table
