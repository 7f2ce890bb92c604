"""The faces on the terminal's page: headline, bars and last minute of each, in columns and rows."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from calib.reports.charts import DIAGONAL
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.reading import Reading, bar_reliability
from rankotom_edge.views.history import History, Moment
from rankotom_edge.views.palette import FAINT_HEX, QUIET_HEX, emotion_hex
from rankotom_edge.views.presenter import bars_shown
from rankotom_edge.views.terminal.history_strip import history_strip
from rankotom_edge.views.wording import headline, named_emotions, percent

Size: TypeAlias = tuple[int, int]  # columns, lines

EMPTY, LOWER_MARK = "─", "│"
# A bar of one, two or three lines, and the line that has the name.
FILLED, NAME_LINE = {1: "▇", 2: "▄▇", 3: "▄█▀"}, {1: 0, 2: 1, 3: 1}
# Of a face; 24 is a name, a bar of 8 cells and a percentage. One face alone may be wider.
MIN_WIDTH, MAX_WIDTH, WIDEST = 24, 76, 118
GUTTER = 2
HEAD_LINES = 2
STRIP = 3  # lines: an empty one, the last minute, its names
AXIS, SECOND_LINE = 1, 1


class Plan(NamedTuple):
    """How the lines of a face below its headline are used."""

    bars: int
    thick: int  # lines of a bar
    strip: int  # lines of the last minute, without the empty one before it
    gap: bool  # an empty line before the bars


def plan_lines(lines: int, labels: int) -> Plan:
    """All bars first, then the last minute, then larger bars, then air."""
    if lines < labels + STRIP:
        return Plan(min(lines, labels), 1, 0, False)
    thick = max(size for size in FILLED if size == 1 or labels * size + STRIP <= lines)
    spare = lines - labels * thick - STRIP
    strip = STRIP - 1 + min(spare, AXIS + SECOND_LINE)
    return Plan(labels, thick, strip, spare > AXIS + SECOND_LINE)


def face_grid(
    readings: tuple[Reading, ...],
    history: History,
    reliability: Reliability,
    room: Size,
) -> RenderableType:
    """Side by side, then in more rows. Faces lose bars before any face is left out."""
    width, lines = room
    max_columns = max(1, (width + GUTTER) // (MIN_WIDTH + GUTTER))
    shown = list(readings)
    if len(shown) > max_columns * lines:
        lines = max(1, lines - 1)  # a line is needed to say how many are left out
        shown = shown[: max_columns * lines]
    columns = min(len(shown), max_columns)
    rows = -(-len(shown) // columns)
    widest = WIDEST if len(readings) == 1 else MAX_WIDTH
    face_width = min(widest, (width + GUTTER) // columns - GUTTER)
    largest = len(readings[0].labels) * max(FILLED)
    full = HEAD_LINES + 1 + largest + STRIP + AXIS + SECOND_LINE
    height, between = min(full, (lines + 1) // rows - 1), 1
    if height > HEAD_LINES + len(readings[0].labels) and rows * (height + 1) > lines:
        height -= 1  # air above the first row
    if height < HEAD_LINES:
        height, between = min(HEAD_LINES, lines // rows), 0
    table = Table.grid(padding=(0, GUTTER, 0, 0))
    for _ in range(columns):
        table.add_column(width=face_width)
    several = len(readings) > 1
    faces = [
        _face(
            reading,
            several,
            history.lane(reading.track),
            reliability,
            (face_width, height),
        )
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
    reading: Reading,
    several: bool,
    lane: Sequence[Moment | None],
    reliability: Reliability,
    room: Size,
) -> Group:
    """The headline, its detail, the highest bars in the model's order, and the last minute."""
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
    plan = plan_lines(lines - HEAD_LINES, len(reading.labels))
    parts = [Text("")] * plan.gap
    for index in bars_shown(reading, plan.bars):
        parts += _bar(reading, index, reliability, names, width, plan.thick)
    if plan.strip:
        parts += [Text(""), *history_strip(lane, reading.labels, width, plan.strip)]
    return Group(head, detail, *parts)


def _bar(
    reading: Reading, index: int, reliability: Reliability, names: int, width: int, thick: int
) -> list[Text]:
    """The name, the bar with its reliability mark, and the percentage."""
    share, name = float(reading.probabilities[index]), reading.labels[index]
    emphasis = "bold" if name in named_emotions(reading) else QUIET_HEX
    cells = max(1, width - names - len(">99 %") - 2)
    filled = round(share * cells)
    colour = QUIET_HEX if reading.verdict == "unsure" else emotion_hex(reading.labels, index)
    right = bar_reliability(reading, index, reliability)
    lines = []
    for line, block in enumerate(FILLED[thick]):
        named = line == NAME_LINE[thick]
        empty = EMPTY if named else " "
        bar = Text.assemble((block * filled, colour), (empty * (cells - filled), FAINT_HEX))
        if right is not None and (named or name == reading.top):
            mark = min(cells - 1, round(right * cells))
            stroke = (DIAGONAL, "bold") if name == reading.top else (LOWER_MARK, QUIET_HEX)
            bar = Text.assemble(bar[:mark], stroke, bar[mark + 1 :])
        before, after = (f"{name:<{names}} ", f" {percent(share):>5}") if named else ("", "")
        lines.append(Text.assemble((f"{before:{names + 1}}", emphasis), bar, (after, emphasis)))
    return lines
