"""How the window is divided: the picture, the column of cards, the status line beneath."""

from dataclasses import dataclass

from rankotom_edge.views.drawing.picture_area import PictureArea
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.drawing.sizes import COLUMNS, LINES, Sizes

MAX_LINES = 1440  # of a photograph, however large; chosen by eye
MAX_SIDE = 4096  # pixels, of a frame that is only a few pixels high or wide
# Text grows more slowly than the picture: a large screen has room for more of it. Chosen by eye.
TEXT_GROWTH = 0.75
STATUS_PAD, STATUS_LINE = 6, 20
PORTRAIT = (416, 640)  # the width and height at which a portrait window's unit is 1
# The column's share of the window. It takes what the picture leaves over, within these limits.
# Chosen by eye.
BESIDE, BELOW = (0.26, 0.45), (0.40, 0.62)


@dataclass(frozen=True)
class WindowLayout:
    width: int
    height: int
    picture: PictureArea
    around: Rect  # the picture and the empty space on its sides
    column: Rect  # of the cards, without its margins
    status: Rect
    sizes: Sizes


def divide_window(
    frame: tuple[int, int], room: tuple[int, int] | None, status_lines: int
) -> WindowLayout:
    """For a frame of this width and height: fills ``room``, or shows the frame at its own size.

    Text is at least 12 pixels high. A window too small for that gets a larger layout, which the
    caller shrinks.
    """
    status_share = STATUS_PAD + STATUS_LINE * status_lines
    if room is None:
        room = _room_for(frame, status_share)
    portrait = room[1] > room[0]
    columns, lines = PORTRAIT if portrait else (COLUMNS, LINES)
    growth = min(room[0] / columns, room[1] / lines)
    width, height = (round(length / min(1.0, growth)) for length in room)
    sizes = Sizes(max(1.0, growth) ** TEXT_GROWTH)
    status_height, gap = sizes.px(status_share), sizes.gap
    above = height - status_height
    wide, high = frame
    if portrait:
        least, most = (share * above for share in BELOW)
        taken = round(min(max(above - width * high / wide, least), most))
        around = Rect(0, 0, width, above - taken)
        column = Rect(gap, around.bottom + gap, width - 2 * gap, taken - 2 * gap)
    else:
        least, most = max(BESIDE[0] * width, sizes.card_width + 2 * gap), BESIDE[1] * width
        taken = round(min(max(width - above * wide / high, least), max(least, most)))
        around = Rect(0, 0, width - taken, above)
        column = Rect(around.right + gap, gap, taken - 2 * gap, above - 2 * gap)
    zoom = min(around.width / wide, around.height / high)
    shown = (max(1, round(wide * zoom)), max(1, round(high * zoom)))
    left, top = (int(around.width) - shown[0]) // 2, (int(around.height) - shown[1]) // 2
    return WindowLayout(
        width=width,
        height=height,
        picture=PictureArea(Rect(left, top, *shown), zoom),
        around=around,
        column=column,
        status=Rect(0, above, width, status_height),
        sizes=sizes,
    )


def _room_for(frame: tuple[int, int], status_share: int) -> tuple[int, int]:
    """A window in which the frame has its own size, unless that is tiny or huge."""
    wide, high = frame
    lines = min(high, wide * LINES / COLUMNS)  # of a 4:3 picture inside the frame
    zoom = min(max(1.0, LINES / lines), MAX_LINES / lines, MAX_SIDE / max(wide, high))
    width, height = max(PORTRAIT[0], wide * zoom), max(LINES, high * zoom)
    unit = 1.0
    for _ in range(3):  # the status line is as high as the window makes it
        around = height + Sizes(unit).px(status_share)
        unit = max(1.0, around / LINES) ** TEXT_GROWTH
    if high > wide:
        return round(width), round(around + height * BELOW[0] / (1 - BELOW[0]))
    sizes = Sizes(unit)
    beside = max(width * BESIDE[0] / (1 - BESIDE[0]), sizes.card_width + 2 * sizes.gap)
    return round(width + beside), round(around)
