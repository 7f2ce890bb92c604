"""Draws the status line, and a message in the picture while there is no face to see."""

from rankotom_edge.frame import Image
from rankotom_edge.views.display import Display
from rankotom_edge.views.drawing.canvas import draw_dot, draw_text, fill_rect
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.drawing.text import line_height, text_width
from rankotom_edge.views.palette import GROUND, QUIET, RECORDING, TEXT, WARNING
from rankotom_edge.views.presenter import NO_FACE, STILL, frame_rate, picture_message, status_line
from rankotom_edge.views.window.layout import WindowLayout


def draw_status_line(image: Image, layout: WindowLayout, display: Display) -> None:
    """One quiet line; for the demo a second one says that it is a still picture."""
    sizes, area = layout.sizes, layout.status
    status, line = display.status, status_line(display)
    top, left = area.y + sizes.px(4), area.x + sizes.pad
    right = _draw_flags(image, layout, display, line.flags, top)
    if line.notice:
        draw_text(image, line.notice, (left, top), sizes.text, TEXT, room=right - left)
    else:
        fps, latency = frame_rate(status)
        for words, slot in ((fps, "000 fps"), (latency, "000 ms")):
            draw_text(image, words, (left, top), sizes.text, QUIET)
            left += text_width(slot, sizes.text) + sizes.px(6)
        for words in line.quiet:
            left += draw_text(image, words, (left, top), sizes.text, QUIET) + sizes.px(14)
        colour = WARNING if line.last.attention else QUIET
        draw_text(image, line.last.words, (left, top), sizes.text, colour, room=right - left)
    if status.still:
        second = (area.x + sizes.pad, top + sizes.px(20))
        draw_text(image, STILL, second, sizes.text, WARNING, room=area.width - 2 * sizes.pad)


def _draw_flags(
    image: Image, layout: WindowLayout, display: Display, flags: tuple[str, ...], top: float
) -> float:
    """The changed switches, from the right. Returns where the rest of the line must end."""
    sizes, controls = layout.sizes, display.controls
    right, gap = layout.status.right - sizes.pad, sizes.px(14)
    if "h" in controls.keys and not controls.help:
        right -= draw_text(image, "h help", (right, top), sizes.text, QUIET, right=True) + gap
    if display.status.recording:
        right -= draw_text(image, "REC", (right, top), sizes.text, TEXT, bold=True, right=True)
        right -= sizes.px(9)
        middle = top + line_height(sizes.text) * 0.57
        draw_dot(image, (right, middle), sizes.px(5), RECORDING)
        right -= sizes.px(5) + gap
    for words in reversed(flags):
        right -= draw_text(image, words, (right, top), sizes.text, TEXT, right=True) + gap
    return right


def draw_message(image: Image, layout: WindowLayout, display: Display) -> None:
    """In the middle of the picture while there is nothing else to see in it."""
    message = picture_message(display)
    if message is None or message.words == NO_FACE:
        return  # the column says that there is no face
    sizes, picture = layout.sizes, layout.picture.rect
    size = sizes.title
    width = min(text_width(message.words, size) + 2 * sizes.pad, picture.width - sizes.pad)
    height = line_height(size) + sizes.pad
    x, y = (picture.x + (picture.width - width) / 2, picture.y + (picture.height - height) / 2)
    pill = Rect(x, y, width, height)
    fill_rect(image, pill, GROUND, height / 2, opacity=0.85)
    at = (pill.x + sizes.pad, pill.y + sizes.pad / 2 - 1)
    colour = WARNING if message.attention else QUIET
    draw_text(image, message.words, at, size, colour, room=width - 2 * sizes.pad + 1)
