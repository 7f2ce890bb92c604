"""The plain parts of a report: figures as text, titles, notes, panels and tables."""

from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import (
    Console,
    ConsoleOptions,
    Group,
    JustifyMethod,
    RenderableType,
    RenderResult,
)
from rich.measure import Measurement
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from calib.intervals import Interval
from calib.resampling import LARGE_BIN

# Okabe and Ito's colours, told apart by every kind of colour vision.
BLUE = "#56b4e9"
ORANGE = "#e69f00"
BAR = "#5b6573"
FAINT = "#7d8794"

# What each figure is called on screen, and its decimals in per cent; None is no share. ECE and
# AECE are judged in tenths of a per cent, so they are shown in hundredths.
NAMES: dict[str, tuple[str, int | None]] = {
    "accuracy": ("accuracy", 1),
    "ece": ("ECE", 2),
    "aece": ("AECE", 2),
    "mce": ("MCE", 1),
    "mce50": (f"MCE, {LARGE_BIN}+", 1),
    "classwise_ece": ("class-wise ECE", 2),
    "nll": ("NLL", None),
    "brier": ("Brier", None),
    "top2_match": ("blend match", 1),
    "vote_distance": ("distance to votes", 1),
    "flips": ("flips", 1),
}
# One character for one, so that nothing moves.
ASCII = str.maketrans("█▓▒▇┃╎┋│┼─●◉◀▶→–−…", "#x+#|:!|+-o@<>>--.")


def percent(fraction: float | None, digits: int = 1) -> str:
    return "–" if fraction is None else f"{100 * fraction:.{digits}f} %"


def points(change: float | None, digits: int = 1) -> str:
    """A difference of two per cents, with its sign; a minus that is as wide as a plus."""
    if change is None:
        return "–"
    rounded = round(100 * change, digits) + 0.0
    return f"{rounded:+.{digits}f}".replace("-", "−") if rounded else f"{0:.{digits}f}"


def figure_text(value: float | None, digits: int | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if digits is None else percent(value, digits)


def span_text(interval: Interval | None, digits: int | None) -> str:
    if interval is None:
        return ""
    scale, places = (1, 3) if digits is None else (100, digits)
    return f"{scale * interval.low:.{places}f}–{scale * interval.high:.{places}f}"


def signed_text(change: float, digits: int | None) -> str:
    return points(change / 100, 3) if digits is None else points(change, digits)


def signed_span_text(interval: Interval | None, digits: int | None) -> str:
    if interval is None:
        return ""
    return f"{signed_text(interval.low, digits)} … {signed_text(interval.high, digits)}"


@dataclass(frozen=True)
class Report:
    """Parts one beneath the other, in ASCII where the terminal has no Unicode."""

    parts: tuple[RenderableType, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(Group(*self.parts), options):
            plain = segment.text.translate(ASCII) if options.ascii_only else segment.text
            yield segment._replace(text=plain)


@dataclass(frozen=True)
class Mark:
    """Good or not, in a character and a colour, between words."""

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
    """The first of the tables that needs no squeezing, else the last."""

    tables: tuple[Table, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        boundless = options.update_width(1000)
        for table in self.tables[:-1]:
            if Measurement.get(console, boundless, table).maximum <= options.max_width:
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
    """Words, on the left, wrap where it is narrow; numbers, on the right, never do."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=FAINT)
    for name, side in columns:
        table.add_column(name, justify=side, no_wrap=side == "right", overflow="fold")
    return table
