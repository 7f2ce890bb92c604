"""The page of a rater in a terminal: the face, the keys beside it, the progress beneath.

Blind: nothing on it comes from the model or from another rater.
"""

from rich.align import Align
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rankotom_edge.labelling.labelling import CANT_TELL, QUESTION, Labelling
from rankotom_edge.views.palette import FAINT_HEX, QUIET_HEX, emotion_hex
from rankotom_edge.views.terminal.half_blocks import HalfBlocks, fit_image

MIN_COLUMNS, MIN_LINES = 60, 20
MARGIN, GUTTER = 1, 3
KEYS_WIDTH = 22  # a key, a dot, the longest name and YOURS
FOOT_LINES = 2
DOT, FILLED, EMPTY = "●", "━", "─"
YOURS = "yours"


def fits(size: tuple[int, int]) -> bool:
    """Whether a face and all keys can be seen."""
    return size[0] >= MIN_COLUMNS and size[1] >= MIN_LINES


def render(labelling: Labelling, size: tuple[int, int]) -> RenderableType:
    """A page of at most ``size``."""
    columns, lines = size[0] - 2 * MARGIN, size[1] - FOOT_LINES
    if not fits(size):
        words = f"This terminal is too small: labelling needs {MIN_COLUMNS}x{MIN_LINES}."
        return Text(words, style=QUIET_HEX)
    if labelling.face is None:
        body: RenderableType = Align.center(_end(labelling), vertical="middle", height=lines)
    else:
        room = columns - GUTTER - KEYS_WIDTH
        picture = fit_image(labelling.face.picture, room, lines - 1)
        table = Table.grid(padding=(0, GUTTER, 0, 0))
        table.add_column(width=picture.shape[1])
        table.add_column(width=KEYS_WIDTH, vertical="middle")
        table.add_row(HalfBlocks(picture), _keys(labelling))
        body = Align.center(table, vertical="middle", height=lines)
    return Padding(Group(body, *_foot(labelling, columns)), (0, MARGIN))


def _keys(labelling: Labelling) -> RenderableType:
    question = Text(QUESTION, style="bold")
    rows = Table.grid(padding=(0, 1, 0, 0))
    for number, name in enumerate(labelling.expressions):
        dot = Text(DOT, style=emotion_hex(labelling.expressions, number))
        rows.add_row(Text(str(number + 1), style="bold"), dot, _named(name, labelling.said))
    rows.add_row()
    rows.add_row(Text("0", style="bold"), "", _named(CANT_TELL, labelling.said))
    rows.add_row(Text("b", style="bold"), "", _back(labelling))
    rows.add_row(Text("q", style="bold"), "", Text("finish for now"))
    return Group(question, Text(""), rows, Text(""), Text(labelling.rater, style=QUIET_HEX))


def _named(name: str, said: str | None) -> Text:
    if name != said:
        return Text(name, no_wrap=True, overflow="ellipsis")
    return Text.assemble((name, "bold reverse"), (f" {YOURS}", QUIET_HEX), no_wrap=True)


def _back(labelling: Labelling) -> Text:
    before = labelling.said_before
    if before is None:
        return Text("back", style=FAINT_HEX)
    return Text.assemble("back ", (f"({before})", QUIET_HEX), no_wrap=True, overflow="ellipsis")


def _end(labelling: Labelling) -> RenderableType:
    rows = Table.grid(padding=(0, 2, 0, 0))
    rows.add_row(Text("Enter", style="bold"), Text("done"))
    rows.add_row(Text("b", style="bold"), _back(labelling))
    return Group(Text(f"{labelling.summary} Thank you, {labelling.rater}."), Text(""), rows)


def _foot(labelling: Labelling, columns: int) -> tuple[Text, Text]:
    progress = labelling.progress
    filled = columns * progress.done // max(1, progress.total)
    bar = Text.assemble(FILLED * filled, (EMPTY * (columns - filled), FAINT_HEX))
    words = Text(progress.words, style=QUIET_HEX, no_wrap=True, overflow="ellipsis")
    return bar, words
