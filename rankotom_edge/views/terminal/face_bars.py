"""The faces on the terminal's page: a headline and bars for each, in columns and rows."""

from collections.abc import Sequence
from typing import TypeAlias

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from calib.reports.charts import DIAGONAL
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.reading import Reading, bar_reliability
from rankotom_edge.views.palette import FAINT_HEX, QUIET_HEX, emotion_hex
from rankotom_edge.views.terminal.face_order import FaceOrder
from rankotom_edge.views.wording import headline, named_emotions, percent

Size: TypeAlias = tuple[int, int]  # columns, lines

FILLED, EMPTY, LOWER_MARK = "▇", "─", "│"
MIN_WIDTH, MAX_WIDTH = 24, 76  # of a face; 24 is a name, a bar of 8 cells and a percentage
GUTTER = 2
HEAD_LINES = 2


def face_grid(
    readings: tuple[Reading, ...], order: FaceOrder, reliability: Reliability, room: Size
) -> RenderableType:
    """Side by side, then in more rows. Faces lose bars before any face is left out."""
    width, lines = room
    max_columns = max(1, (width + GUTTER) // (MIN_WIDTH + GUTTER))
    shown = list(readings)
    if len(shown) > max_columns * lines:
        lines = max(1, lines - 1)  # a line is needed to say how many are left out
        first = set(list(order)[: max_columns * lines])
        shown = [reading for reading in readings if reading.track in first]
    columns = min(len(shown), max_columns)
    rows = -(-len(shown) // columns)
    face_width = min(MAX_WIDTH, (width + GUTTER) // columns - GUTTER)
    full = HEAD_LINES + len(readings[0].labels)
    height, between = min(full, (lines + 1) // rows - 1), 1
    if height < HEAD_LINES:
        height, between = min(HEAD_LINES, lines // rows), 0
    table = Table.grid(padding=(0, GUTTER, 0, 0))
    for _ in range(columns):
        table.add_column(width=face_width)
    several = len(readings) > 1
    faces = [
        _face(reading, several, order[reading.track], reliability, (face_width, height))
        for reading in shown
    ]
    for start in range(0, len(faces), columns):
        if start and between:
            table.add_row("")
        table.add_row(*faces[start : start + columns])
    if lines < room[1]:
        # Always more than one: a single one would fit into this line itself.
        more = f"+{len(readings) - len(shown)} more faces"
        return Group(Text(more, style=QUIET_HEX, justify="right"), table)
    spare = lines - rows * (height + between) + between
    return Group(Text(""), table) if spare else table


def _face(
    reading: Reading, several: bool, ranked: Sequence[int], reliability: Reliability, room: Size
) -> Group:
    """The headline, its detail, and the highest bars in the model's order."""
    width, lines = room
    words = headline(reading, reliability)
    unsure = reading.verdict == "unsure"
    number = f"{reading.track} " if several else ""
    headline_only = lines < HEAD_LINES
    title_words = f"{words.title}: {words.detail}" if headline_only and unsure else words.title
    title = Text(title_words, style=f"bold {QUIET_HEX}" if unsure else "bold")
    title.truncate(width - len(number), overflow="ellipsis")
    head = Text.assemble((number, QUIET_HEX), title)
    number_fits = len(head) + 2 + len(words.number) <= width
    if number_fits:
        head.append(f"{words.number:>{width - len(head)}}", style="bold")
    if headline_only:
        return Group(head)
    # If the number does not fit into the headline and the detail is cut or empty, show the number.
    cut = words.number and not number_fits and not 0 < len(words.detail) <= width
    detail = Text(words.number if cut else words.detail, style=QUIET_HEX)
    detail.truncate(width, overflow="ellipsis")
    names = max(len(name) for name in reading.labels)
    in_headline = [reading.labels.index(name) for name in (*named_emotions(reading), reading.top)]
    first = list(dict.fromkeys((*in_headline, *ranked)))[: lines - HEAD_LINES]
    bars = [_bar(reading, index, reliability, names, width) for index in sorted(first)]
    return Group(head, detail, *bars)


def _bar(reading: Reading, index: int, reliability: Reliability, names: int, width: int) -> Text:
    """The name, the bar with its reliability mark, and the percentage."""
    share, name = float(reading.probabilities[index]), reading.labels[index]
    emphasis = "bold" if name in named_emotions(reading) else QUIET_HEX
    cells = max(1, width - names - len(">99 %") - 2)
    filled = round(share * cells)
    colour = QUIET_HEX if reading.verdict == "unsure" else emotion_hex(reading.labels, index)
    bar = Text.assemble((FILLED * filled, colour), (EMPTY * (cells - filled), FAINT_HEX))
    right = bar_reliability(reading, index, reliability)
    if right is not None:
        mark = min(cells - 1, round(right * cells))
        stroke = (DIAGONAL, "bold") if name == reading.top else (LOWER_MARK, QUIET_HEX)
        bar = Text.assemble(bar[:mark], stroke, bar[mark + 1 :])
    return Text.assemble((f"{name:<{names}} ", emphasis), bar, (f" {percent(share):>5}", emphasis))
