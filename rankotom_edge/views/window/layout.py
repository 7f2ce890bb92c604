"""How the window is divided: the picture, a column to its right, the status line beneath."""

from dataclasses import dataclass

from rankotom_edge.views.drawing.picture_area import PictureArea
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.drawing.sizes import COLUMNS, LINES, Sizes

MAX_LINES = 1440  # of a photograph, however large; chosen by eye
MAX_SIDE = 4096  # pixels, of a frame that is only a few pixels high or wide
# Text grows more slowly than the picture: a large screen has room for more of it. Chosen by eye.
TEXT_GROWTH = 0.75
STATUS_PAD, STATUS_LINE = 6, 20


@dataclass(frozen=True)
class WindowLayout:
    width: int
    height: int
    picture: PictureArea
    around: Rect  # the picture and the empty space on its sides
    column: Rect | None
    status: Rect
    sizes: Sizes


def divide_window(
    frame: tuple[int, int], room: tuple[int, int] | None, column: bool, status_lines: int
) -> WindowLayout:
    """For a frame of this width and height: fills ``room``, or shows the frame at its own size.

    Text is at least 12 pixels high. A window too small for that gets a larger layout, which the
    caller shrinks.
    """
    wide, high = frame
    status_share = STATUS_PAD + STATUS_LINE * status_lines
    if room is None:
        # Counted as lines of a 4:3 picture inside the frame, so that a narrow one has small text.
        lines = min(high, wide * LINES / COLUMNS)
        growth = min(max(lines, LINES), MAX_LINES) / LINES
        zoom = min(growth * LINES / lines, MAX_SIDE / max(wide, high))
    else:
        growth = min(room[0] / COLUMNS, room[1] / (LINES + status_share))
    sizes = Sizes(max(1.0, growth) ** TEXT_GROWTH)
    gap, status_height = sizes.gap, sizes.px(status_share)
    column_width = sizes.panel_width + 2 * gap if column else 0
    if room is None:
        width, height = round(wide * zoom) + column_width, round(high * zoom) + status_height
    else:
        width, height = (round(length / min(1.0, growth)) for length in room)
        zoom = min((width - column_width) / wide, (height - status_height) / high)
    shown = (max(1, round(wide * zoom)), max(1, round(high * zoom)))
    around = Rect(0, 0, width - column_width, height - status_height)
    left, top = (around.width - shown[0]) // 2, (around.height - shown[1]) // 2
    right = Rect(around.width + gap, gap, sizes.panel_width, around.height - 2 * gap)
    return WindowLayout(
        width=width,
        height=height,
        picture=PictureArea(Rect(left, top, *shown), zoom),
        around=around,
        column=right if column else None,
        status=Rect(0, around.height, width, status_height),
        sizes=sizes,
    )
