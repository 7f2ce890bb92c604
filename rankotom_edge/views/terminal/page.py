"""A display as a page of text: the faces, what a key opens to their left, the status line beneath.

Whatever a colour shows is also shown by a word, a position or a character.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from calib.reports.widgets import Report
from rankotom_edge.model.reliability import Reliability
from rankotom_edge.views.display import Display
from rankotom_edge.views.palette import FAINT_HEX, QUIET_HEX, RECORDING_HEX, WARNING_HEX
from rankotom_edge.views.presenter import (
    STILL,
    Message,
    frame_rate,
    picture_message,
    shown_readings,
    status_line,
)
from rankotom_edge.views.terminal.face_bars import GUTTER, MIN_WIDTH, Size, face_grid
from rankotom_edge.views.terminal.side_panels import SIDE_PANEL_WIDTH, side_panel

MARGIN = 1
# Columns of the picture; chosen by eye. In a smaller one a face is only a few pixels; a larger one
# is slow to draw, and to send over SSH.
MIN_PICTURE, MAX_PICTURE = 24, 76


def render(
    display: Display,
    reliability: Reliability,
    size: Size,
    *,
    picture: bool = False,
    colours: bool = True,
) -> RenderableType:
    """A page of exactly ``size``; ``picture`` adds the frame if the terminal has ``colours``."""
    latest, readings = display.latest, shown_readings(display)
    columns = size[0] - 2 * MARGIN
    lines = max(1, size[1] - 1 - display.status.still)
    frame = latest.frame.image if picture and latest is not None else None
    room = (_picture_columns(columns, bool(readings)), lines)
    panel = side_panel(frame, readings, display.controls, reliability, room, colours)
    no_picture = _why_no_picture(colours) if frame is not None and panel is None else ""
    width = columns if panel is None else columns - panel.width - GUTTER
    body: RenderableType
    if panel is not None and width < MIN_WIDTH:
        body = panel.body
    else:
        if readings:
            body = face_grid(readings, display.history, reliability, (width, lines))
        else:
            body = _centre_message(picture_message(display), lines)
        if panel is not None:
            table = Table.grid(padding=(0, GUTTER, 0, 0))
            table.add_column(width=panel.width)
            table.add_column(width=width)
            table.add_row(panel.body, body)
            body = table
    page = Page(body, lines, _status_lines(display, columns, no_picture))
    return Report((Padding(page, (0, MARGIN)),))


def _picture_columns(columns: int, faces: bool) -> int:
    """How many columns the picture may take: about half, less if a face needs more, or none.

    On a narrow page without faces it takes all of them, which helps to aim the camera.
    """
    spare = columns - GUTTER - MIN_WIDTH
    if spare < MIN_PICTURE:
        return 0 if faces else columns
    half = min(MAX_PICTURE, (columns - GUTTER) // 2)
    return min(spare, max(SIDE_PANEL_WIDTH, half))


def _why_no_picture(colours: bool) -> str:
    """In few words, because the terminal may be narrow."""
    needed = 2 * MARGIN + MIN_PICTURE + GUTTER + MIN_WIDTH
    return f"a picture needs {needed} columns" if colours else "a picture needs colours"


@dataclass(frozen=True)
class Page:
    """A body, cut or padded to a number of lines, and the status lines beneath it."""

    body: RenderableType
    lines: int
    status: Sequence[Text]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        body = console.render_lines(self.body, options.update(height=None), pad=False)
        for line in range(self.lines):
            yield from body[line] if line < len(body) else ()
            yield Segment.line()
        for number, text in enumerate(self.status, 1):
            (segments,) = console.render_lines(text, options.update(height=None), pad=False)[:1]
            yield from segments
            if number < len(self.status):
                yield Segment.line()


def _centre_message(message: Message | None, lines: int) -> RenderableType:
    if message is None:
        return Text("")
    style = WARNING_HEX if message.attention else QUIET_HEX
    text = Text(message.words, style=style, justify="center")
    return Group(*[Text("")] * ((lines - 1) // 2), text)


def _status_lines(display: Display, width: int, no_picture: str) -> list[Text]:
    """One quiet line; for the demo, a line above it says that it is a still picture."""
    status, line = display.status, status_line(display)
    flags = Text()
    for words in line.flags:
        flags.append(f"  {words}", style="bold")
    if status.recording:
        flags.append("  ●", style=RECORDING_HEX)
        flags.append(" REC", style="bold")
    if line.notice:
        text = Text(line.notice)
    elif no_picture and not line.last.attention:
        text = Text(no_picture)
    else:
        text = Text("  ".join((*frame_rate(status), *line.quiet, "")), style=QUIET_HEX)
        text.append(line.last.words, style=WARNING_HEX if line.last.attention else QUIET_HEX)
    if not line.notice and not flags:
        flags = Text("  h help", style=FAINT_HEX)
    text.truncate(max(0, width - len(flags)), overflow="ellipsis", pad=True)
    still = [Text(STILL, style=WARNING_HEX)] if status.still else []
    return [*still, text + flags]
