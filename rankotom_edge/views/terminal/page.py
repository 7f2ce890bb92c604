"""A moment as a page of text: bars for each face, the state beneath, and what the keys ask for.

Each colour is doubled by a word, a place or a character, so that nothing is lost without colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from calib.reports.charts import DIAGONAL
from calib.reports.widgets import Report
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.readings.reading import Reading, bar_reliability
from rankotom_edge.views.palette import (
    FAINT_HEX,
    QUIET_HEX,
    RECORDING_HEX,
    WARNING_HEX,
    emotion_hex,
)
from rankotom_edge.views.presenter import (
    STILL,
    Message,
    frame_rate,
    picture_message,
    shown_readings,
    status_line,
)
from rankotom_edge.views.terminal.side_panels import ASIDE_WIDTH, aside
from rankotom_edge.views.wording import headline, named, percent

if TYPE_CHECKING:
    from rankotom_edge.readings.frame_readings import FrameReadings
    from rankotom_edge.views.display import Display

Size: TypeAlias = tuple[int, int]  # columns, lines
# Who is there, first those who have been for longest, and the emotions of each, highest first.
Standing: TypeAlias = Mapping[int, Sequence[int]]

FILLED, EMPTY, LOWER_MARK = "▇", "─", "│"
NARROWEST, WIDEST = 24, 76  # of a face: the least is a name, a bar of 8 cells and a per cent
MARGIN, GUTTER = 1, 2
HEAD_LINES = 2
LEAST_PICTURE = 24  # columns: with fewer a face is a few pixels
# Columns too: a page with one as large takes 18 ms and 52 KB, one with ASIDE_WIDTH 8 and 26.
LARGEST_PICTURE = 76
# Bars that are shown stay shown until another is ahead by as much. In a clip of eight faces the
# rows of a shortened face changed 7 to 26 times in 5 s without this, and not once with it.
AHEAD = 0.02


def stand(moment: FrameReadings | None, before: Standing) -> Standing:
    """Who is there now, after who was: nobody loses a place to one who came later."""
    if moment is None:
        return {}
    readings = {reading.track: reading for reading in moment.readings}
    known = [track for track in before if track in readings]
    new = [track for track in readings if track not in before]
    new.sort(key=lambda track: -readings[track].face.box[2] * readings[track].face.box[3])
    return {track: _ranked(readings[track], before.get(track)) for track in (*known, *new)}


def _ranked(reading: Reading, before: Sequence[int] | None) -> list[int]:
    """The places of the emotions in the model's order, highest first."""
    shares = reading.probabilities.tolist()
    if before is None:
        return sorted(range(len(shares)), key=lambda index: -round(100 * shares[index]))
    ranked: list[int] = []
    for index in before:
        place = len(ranked)
        while place and shares[index] >= shares[ranked[place - 1]] + AHEAD:
            place -= 1
        ranked.insert(place, index)
    return ranked


def render(
    display: Display,
    reliability: Reliability,
    size: Size,
    *,
    standing: Standing,
    picture: bool = False,
    colours: bool = True,
) -> RenderableType:
    """A page of this many columns and lines; ``standing``: of this moment, by ``stand``;
    ``picture``: the frame too, where there are enough ``colours`` for one."""
    latest, readings = display.latest, shown_readings(display)
    columns = size[0] - 2 * MARGIN
    lines = max(1, size[1] - 1 - display.status.still)
    frame = latest.frame.image if picture and latest is not None else None
    room = (_picture_columns(columns, bool(readings)), lines)
    extra = aside(frame, readings, display.controls, reliability, room, colours)
    width = columns if extra is None else columns - extra.width - GUTTER
    body: RenderableType
    if extra is not None and width < NARROWEST:
        body, beside = extra.body, None
    elif readings:
        body, beside = _faces(readings, standing, reliability, (width, lines)), extra
    else:
        body, beside = _message(picture_message(display), lines), extra
    if beside is not None:
        table = Table.grid(padding=(0, GUTTER, 0, 0))
        table.add_column(width=beside.width)
        table.add_column(width=width)
        table.add_row(beside.body, body)
        body = table
    remark = _no_picture(colours) if frame is not None and extra is None else ""
    foot = _foot(display, columns, remark)
    return Report((Padding(Page(body, lines, foot), (0, MARGIN)),))


def _picture_columns(columns: int, faces: bool) -> int:
    """How many of these a picture may take: half, or less where a face needs more, or none.

    While there are no faces, a narrow page is all for the picture, as one aims a camera by it.
    """
    spare = columns - GUTTER - NARROWEST
    if spare < LEAST_PICTURE:
        return 0 if faces else columns
    half = min(LARGEST_PICTURE, (columns - GUTTER) // 2)
    return min(spare, max(ASIDE_WIDTH, half))


def _no_picture(colours: bool) -> str:
    """Why, in few words: it is said where the terminal is narrow."""
    needed = 2 * MARGIN + LEAST_PICTURE + GUTTER + NARROWEST
    return f"a picture needs {needed} columns" if colours else "a picture needs colours"


@dataclass(frozen=True)
class Page:
    """A body, cut or filled to so many lines, and the lines beneath it."""

    body: RenderableType
    lines: int
    foot: Sequence[Text]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        body = console.render_lines(self.body, options.update(height=None), pad=False)
        for line in range(self.lines):
            yield from body[line] if line < len(body) else ()
            yield Segment.line()
        for number, text in enumerate(self.foot, 1):
            (line_of_foot,) = console.render_lines(text, options.update(height=None), pad=False)[:1]
            yield from line_of_foot
            if number < len(self.foot):
                yield Segment.line()


def _faces(
    readings: tuple[Reading, ...], standing: Standing, reliability: Reliability, room: Size
) -> RenderableType:
    """Side by side, then in further rows; each is cut down to its headline before one is left
    out."""
    width, lines = room
    most_columns = max(1, (width + GUTTER) // (NARROWEST + GUTTER))
    shown = list(readings)
    if len(shown) > most_columns * lines:
        lines = max(1, lines - 1)  # one tells of those left out
        first = set(list(standing)[: most_columns * lines])
        shown = [reading for reading in readings if reading.track in first]
    columns = min(len(shown), most_columns)
    rows = -(-len(shown) // columns)
    each = min(WIDEST, (width + GUTTER) // columns - GUTTER)
    full = HEAD_LINES + len(readings[0].labels)
    height, between = min(full, (lines + 1) // rows - 1), 1
    if height < HEAD_LINES:
        height, between = min(HEAD_LINES, lines // rows), 0
    table = Table.grid(padding=(0, GUTTER, 0, 0))
    for _ in range(columns):
        table.add_column(width=each)
    several = len(readings) > 1
    blocks = [
        _face(reading, several, standing[reading.track], reliability, (each, height))
        for reading in shown
    ]
    for start in range(0, len(blocks), columns):
        if start and between:
            table.add_row("")
        table.add_row(*blocks[start : start + columns])
    if lines < room[1]:
        # Never a single one: that one would be in the line.
        more = f"+{len(readings) - len(shown)} more faces"
        return Group(Text(more, style=QUIET_HEX, justify="right"), table)
    spare = lines - rows * (height + between) + between
    return Group(Text(""), table) if spare else table


def _face(
    reading: Reading,
    several: bool,
    ranked: Sequence[int],
    reliability: Reliability,
    room: Size,
) -> Group:
    """The headline, what it is worth, and the highest bars in the order of the model."""
    width, lines = room
    words = headline(reading, reliability)
    unsure = reading.verdict == "unsure"
    number = f"{reading.track} " if several else ""
    alone = lines < HEAD_LINES
    told = f"{words.title}: {words.detail}" if alone and unsure else words.title
    title = Text(told, style=f"bold {QUIET_HEX}" if unsure else "bold")
    title.truncate(width - len(number), overflow="ellipsis")
    head = Text.assemble((number, QUIET_HEX), title)
    in_head = len(head) + 2 + len(words.number) <= width
    if in_head:
        head.append(f"{words.number:>{width - len(head)}}", style="bold")
    if alone:
        return Group(head)
    # A blend's parts have bars of their own; half of them would tell less than their numbers.
    half_told = words.number and not in_head and len(words.detail) > width
    told = words.number if half_told else words.detail
    detail = Text(told, style=QUIET_HEX)
    detail.truncate(width, overflow="ellipsis")
    names = max(len(name) for name in reading.labels)
    in_headline = [reading.labels.index(name) for name in (*named(reading), reading.top)]
    first = list(dict.fromkeys((*in_headline, *ranked)))[: lines - HEAD_LINES]
    bars = [_bar(reading, index, reliability, names, width) for index in sorted(first)]
    return Group(head, detail, *bars)


def _bar(reading: Reading, index: int, reliability: Reliability, names: int, width: int) -> Text:
    """The name, the bar with the mark of its reliability, and the per cent."""
    share, name = float(reading.probabilities[index]), reading.labels[index]
    emphasis = "bold" if name in named(reading) else QUIET_HEX
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


def _message(message: Message | None, lines: int) -> RenderableType:
    """In the middle, while there is nothing else to see."""
    if message is None:
        return Text("")
    style = WARNING_HEX if message.attention else QUIET_HEX
    text = Text(message.words, style=style, justify="center")
    return Group(*[Text("")] * ((lines - 1) // 2), text)


def _foot(display: Display, width: int, remark: str) -> list[Text]:
    """One quiet line, or the remark; above it, of the demo, that it is a still."""
    status, state = display.status, status_line(display)
    flags = Text()
    for words in state.flags:
        flags.append(f"  {words}", style="bold")
    if status.recording:
        flags.append("  ●", style=RECORDING_HEX)
        flags.append(" REC", style="bold")
    if state.notice:
        line = Text(state.notice)
    elif remark and not state.last.attention:
        line = Text(remark)
    else:
        line = Text("  ".join((*frame_rate(status), *state.quiet, "")), style=QUIET_HEX)
        line.append(state.last.words, style=WARNING_HEX if state.last.attention else QUIET_HEX)
    if not state.notice and not flags:
        flags = Text("  h help", style=FAINT_HEX)
    line.truncate(max(0, width - len(flags)), overflow="ellipsis", pad=True)
    still = [Text(STILL, style=WARNING_HEX)] if status.still else []
    return [*still, line + flags]
