"""The plain parts of a report: figures as text, titles, notes, panels and tables."""

from collections.abc import Iterable

from rich.console import JustifyMethod, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from calib.resampling import LARGE_BIN, Interval

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
    "nll": ("NLL", None),
    "brier": ("Brier", None),
    "top2_match": ("blend match", 1),
}


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


def title(name: str, faces: str) -> RenderableType:
    words = Text.assemble((name, "bold"), "  ", (faces, FAINT))
    return Padding(Rule(words, align="left", style=FAINT), (1, 0, 0, 0))


def heading(words: str) -> RenderableType:
    return Padding(Text(words, style="bold"), (1, 0, 0, 0))


def note(words: str) -> RenderableType:
    return Text(words, style=FAINT)


def panel(good: bool, headline: str, lines: Iterable[str] = ()) -> RenderableType:
    mark, colour = ("✓", BLUE) if good else ("✗", ORANGE)
    rows = Table.grid(padding=(0, 1))
    rows.add_column(width=1)
    rows.add_column()
    rows.add_row(Text(mark, style=f"bold {colour}"), Text(headline, style="bold"))
    for line in lines:
        rows.add_row("", Text(line))
    return Panel(rows, border_style=colour, padding=(0, 1))


def plain_table(*columns: tuple[str, JustifyMethod]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=FAINT)
    for name, side in columns:
        table.add_column(name, justify=side, no_wrap=True)
    return table
