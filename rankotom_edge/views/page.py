"""A moment as a page of text: bars for each face, the state beneath, and what the keys ask for.

Each colour is doubled by a word, a place or a character, so that nothing is lost without colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from calib.diagrams import DIAGONAL
from calib.layout import Report
from rankotom_edge.palette import (
    FAINT_HEX,
    QUIET_HEX,
    RECORDING_HEX,
    WARNING_HEX,
    emotion_hex,
)
from rankotom_edge.readings import shown_as
from rankotom_edge.reliability import Reliability
from rankotom_edge.views.asides import ASIDE_WIDTH, aside, only_a_picture
from rankotom_edge.wording import (
    NO_FACE,
    STILL,
    foot_words,
    headline,
    named,
    pace,
    percent,
    source_words,
)

if TYPE_CHECKING:
    from rankotom_edge.controls import Controls
    from rankotom_edge.moment import Moment, Status
    from rankotom_edge.readings import Reading

Size: TypeAlias = tuple[int, int]  # columns, lines

FILLED, EMPTY, LOWER_MARK = "▇", "─", "│"
NARROWEST, WIDEST = 24, 76  # of a face: the least is a name, a bar of 8 cells and a per cent
MARGIN, GUTTER = 1, 2
HEAD_LINES = 2


def render(
    moment: Moment | None,
    status: Status,
    controls: Controls,
    reliability: Reliability,
    size: Size,
    *,
    picture: bool = False,
    colours: bool = True,
) -> RenderableType:
    """A page of this many columns and lines; ``picture``: the frame too, where there are enough
    ``colours`` for one."""
    readings: tuple[Reading, ...] = ()
    if moment is not None and status.state.kind != "lost":
        readings = tuple(shown_as(reading, controls.smoothed) for reading in moment.readings)
    columns = size[0] - 2 * MARGIN
    foot = _foot(status, controls, columns)
    lines = max(1, size[1] - len(foot))
    frame = moment.frame.image if picture and moment is not None else None
    extra = aside(frame, readings, controls, reliability, lines, colours)
    width = columns if extra is None else columns - ASIDE_WIDTH - GUTTER
    body: RenderableType
    if extra is not None and width < NARROWEST and only_a_picture(controls, readings):
        extra, width = None, columns  # nobody asked for a picture instead of the bars
    if extra is not None and width < NARROWEST:
        body, extra = extra, None
    elif readings:
        body = _faces(readings, reliability, (width, lines - 1))
    else:
        body = _message(moment, status, (width, lines))
    if extra is not None:
        table = Table.grid(padding=(0, GUTTER, 0, 0))
        table.add_column(width=ASIDE_WIDTH)
        table.add_column(width=width)
        table.add_row(extra, body)
        body = table
    return Report((Padding(Page(body, lines, foot), (0, MARGIN)),))


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


def _faces(readings: tuple[Reading, ...], reliability: Reliability, room: Size) -> RenderableType:
    """Side by side, then in further rows; where there are too many, the largest."""
    width, lines = room
    labels = len(readings[0].labels)
    most_columns = max(1, (width + GUTTER) // (NARROWEST + GUTTER))
    rows = max(1, (lines + 1) // (HEAD_LINES + labels + 1))
    shown = _largest(readings, most_columns * rows)
    columns = min(len(shown), most_columns)
    rows = -(-len(shown) // columns)
    each = min(WIDEST, (width + GUTTER) // columns - GUTTER)
    bars = max(0, min(labels, lines // rows - HEAD_LINES - (rows > 1)))
    table = Table.grid(padding=(0, GUTTER, 0, 0))
    for _ in range(columns):
        table.add_column(width=each)
    several = len(readings) > 1
    blocks = [_face(reading, several, reliability, each, bars) for reading in shown]
    for start in range(0, len(blocks), columns):
        table.add_row(*blocks[start : start + columns])
        table.add_row("")
    left_out = len(readings) - len(shown)
    more = f"+{left_out} more" if left_out else ""
    return Group(Text(more, style=QUIET_HEX, justify="right"), table)


def _largest(readings: tuple[Reading, ...], most: int) -> list[Reading]:
    """In their own order."""
    by_size = sorted(readings, key=lambda reading: -reading.face.box[2] * reading.face.box[3])
    tracks = {reading.track for reading in by_size[:most]}
    return [reading for reading in readings if reading.track in tracks]


def _face(
    reading: Reading, several: bool, reliability: Reliability, width: int, bars: int
) -> Group:
    words = headline(reading, reliability)
    unsure = reading.verdict == "unsure"
    number = f"{reading.track} " if several else ""
    room = width - len(number)
    title = Text(words.title, style=f"bold {QUIET_HEX}" if unsure else "bold")
    title.truncate(room, overflow="ellipsis")
    head = Text.assemble((number, QUIET_HEX), title)
    in_head = len(head) + 2 + len(words.number) <= width
    if in_head:
        head.append(f"{words.number:>{width - len(head)}}", style="bold")
    # A blend's parts have bars of their own; half of them would tell less than their numbers.
    half_told = words.number and not in_head and len(words.detail) > width
    told = words.number if half_told else words.detail
    detail = Text(told, style=QUIET_HEX)
    detail.truncate(width, overflow="ellipsis")
    order = np.argsort(-reading.probabilities, kind="stable")[:bars]
    names = max(len(name) for name in reading.labels)
    lines = [_bar(reading, int(index), reliability, names, width) for index in sorted(order)]
    return Group(head, detail, *lines)


def _bar(reading: Reading, index: int, reliability: Reliability, names: int, width: int) -> Text:
    """The name, the bar with the mark of its reliability, and the per cent."""
    share, name = float(reading.probabilities[index]), reading.labels[index]
    emphasis = "bold" if name in named(reading) else QUIET_HEX
    cells = max(1, width - names - len(">99 %") - 2)
    filled = round(share * cells)
    colour = QUIET_HEX if reading.verdict == "unsure" else emotion_hex(reading.labels, index)
    bar = Text.assemble((FILLED * filled, colour), (EMPTY * (cells - filled), FAINT_HEX))
    right = reliability.at(share, highest=name == reading.top)
    if right is not None:
        mark = min(cells - 1, round(right * cells))
        stroke = (DIAGONAL, "bold") if name == reading.top else (LOWER_MARK, QUIET_HEX)
        bar = Text.assemble(bar[:mark], stroke, bar[mark + 1 :])
    return Text.assemble((f"{name:<{names}} ", emphasis), bar, (f" {percent(share):>5}", emphasis))


def _message(moment: Moment | None, status: Status, room: Size) -> RenderableType:
    """In the middle, while there is nothing else to see."""
    words, attention = source_words(status)
    if status.state.kind == "playing":
        words = NO_FACE if moment is not None else f"waiting for {status.source}"
    text = Text(words, style=WARNING_HEX if attention else QUIET_HEX, justify="center")
    return Group(*[Text("")] * ((room[1] - 1) // 2), text)


def _foot(status: Status, controls: Controls, width: int) -> list[Text]:
    """One quiet line; above it, of the demo, that it is a still."""
    flags = Text()
    for words, on in (("raw", not controls.smoothed), ("paused", controls.paused)):
        if on:
            flags.append(f"  {words}", style="bold")
    if status.recording:
        flags.append("  ●", style=RECORDING_HEX)
        flags.append(" REC", style="bold")
    if status.notice:
        line = Text(status.notice)
    else:
        quiet, last, attention = foot_words(status)
        line = Text("  ".join((*pace(status), *quiet, "")), style=QUIET_HEX)
        line.append(last, style=WARNING_HEX if attention else QUIET_HEX)
    if not status.notice and not flags:
        flags = Text("  h help", style=FAINT_HEX)
    line.truncate(max(0, width - len(flags)), overflow="ellipsis", pad=True)
    still = [Text(STILL, style=WARNING_HEX)] if status.still else []
    return [*still, line + flags]
