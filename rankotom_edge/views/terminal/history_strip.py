"""The last minute of a face in a terminal: a band in the colours of its headlines, and their names
beneath."""

from collections.abc import Sequence
from itertools import groupby, pairwise

from rich.style import Style
from rich.text import Text

from rankotom_edge.readings.blend import name_in_words
from rankotom_edge.views.history import Moment
from rankotom_edge.views.palette import FAINT_HEX, QUIET_HEX, emotion_hex
from rankotom_edge.views.wording import UNSURE

SURE_CELL, BLEND_CELL, UNSURE_CELL, AWAY_CELL = "█", "▀", "░", "─"
OLDEST, NEWEST = "1 min ago", "now"


def history_strip(
    lane: Sequence[Moment | None], labels: tuple[str, ...], width: int, lines: int
) -> list[Text]:
    """The band and the names, then ends of the time axis and a second line of the band."""
    high = lines > 3
    bands, names = [Text() for _ in range(1 + high)], Text(style=QUIET_HEX)
    for moment, same in groupby(_columns(lane, width)):
        length = len(list(same))
        for line, band in enumerate(bands):
            letter, style = _cell(moment, labels, line, high)
            band.append(length * letter, style)
        name = "" if moment is None else _name(moment, labels)
        names.append(f"{name if len(name) < length else '':<{length}}")
    axis = Text(f"{OLDEST}{NEWEST:>{max(0, width - len(OLDEST))}}", style=FAINT_HEX)
    return [*bands, names, *[axis] * (lines > 2)]


def _columns(lane: Sequence[Moment | None], width: int) -> list[Moment | None]:
    """What a face showed for most of each column's time."""
    edges = [len(lane) * column // width for column in range(width + 1)]
    spans = [lane[low : max(high, low + 1)] for low, high in pairwise(edges)]
    return [max(span, key=span.count) for span in spans]


def _cell(
    moment: Moment | None, labels: tuple[str, ...], line: int, high: bool
) -> tuple[str, Style | str]:
    """A blend has one colour above the other."""
    if moment is None:
        return AWAY_CELL if line == high else " ", FAINT_HEX
    if moment.unsure:
        return UNSURE_CELL, QUIET_HEX
    upper, lower = (emotion_hex(labels, moment.emotions[end]) for end in (0, -1))
    if high or upper == lower:
        return SURE_CELL, lower if line else upper
    return BLEND_CELL, Style(color=upper, bgcolor=lower)


def _name(moment: Moment, labels: tuple[str, ...]) -> str:
    first, *second = (labels[index] for index in moment.emotions)
    return UNSURE if moment.unsure else name_in_words(first, second[0]) if second else first
