"""What is said beside the faces: the quiet line, and a message where there is nothing to see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankotom_edge.views.palette import RECORDING_HEX, WARNING_HEX, bgr
from rankotom_edge.views.presenter import STILL, frame_rate, picture_message, status_line
from rankotom_edge.views.window.canvas import dot, glass, write
from rankotom_edge.views.window.panel_placement import Rect
from rankotom_edge.views.window.panels import QUIET, TEXT
from rankotom_edge.views.window.text import line_height, text_width

if TYPE_CHECKING:
    from rankotom_edge.frame import Image
    from rankotom_edge.views.display import Display
    from rankotom_edge.views.window.layout import Sheet

WARNING, RECORDING = bgr(WARNING_HEX), bgr(RECORDING_HEX)


def draw_foot(image: Image, sheet: Sheet, display: Display) -> None:
    """One quiet line; a second says of the demo that it is a still."""
    measures, foot = sheet.measures, sheet.foot
    status, state = display.status, status_line(display)
    top, left = foot.y + measures.px(4), foot.x + measures.pad
    right = _flags(image, sheet, display, state.flags, top)
    if state.notice:
        write(image, state.notice, (left, top), measures.text, TEXT, room=right - left)
    else:
        fps, latency = frame_rate(status)
        for words, slot in ((fps, "000 fps"), (latency, "000 ms")):
            write(image, words, (left, top), measures.text, QUIET)
            left += text_width(slot, measures.text) + measures.px(6)
        for words in state.quiet:
            left += write(image, words, (left, top), measures.text, QUIET) + measures.px(14)
        colour = WARNING if state.last.attention else QUIET
        write(image, state.last.words, (left, top), measures.text, colour, room=right - left)
    if status.still:
        second = (foot.x + measures.pad, top + measures.px(20))
        write(image, STILL, second, measures.text, WARNING, room=foot.width - 2 * measures.pad)


def _flags(
    image: Image, sheet: Sheet, display: Display, flags: tuple[str, ...], top: float
) -> float:
    """The switches that are not as usual, from the right; where the rest of the line must end."""
    measures, controls = sheet.measures, display.controls
    right, gap = sheet.foot.right - measures.pad, measures.px(14)
    if "h" in controls.keys and not controls.help:
        right -= write(image, "h help", (right, top), measures.text, QUIET, right=True) + gap
    if display.status.recording:
        right -= write(image, "REC", (right, top), measures.text, TEXT, bold=True, right=True)
        right -= measures.px(9)
        middle = top + line_height(measures.text) * 0.57
        dot(image, (right, middle), measures.px(5), RECORDING)
        right -= measures.px(5) + gap
    for words in reversed(flags):
        right -= write(image, words, (right, top), measures.text, TEXT, right=True) + gap
    return right


def draw_message(image: Image, sheet: Sheet, display: Display) -> None:
    """In the picture, while there is nothing else to see in it."""
    message = picture_message(display)
    if message is None:
        return
    measures, picture = sheet.measures, sheet.picture
    size = measures.title if message.attention else measures.text
    width = min(text_width(message.words, size) + 2 * measures.pad, picture.width - measures.pad)
    height = line_height(size) + measures.pad
    y = picture.bottom - height - measures.px(12)
    if message.attention or display.latest is None:
        y = picture.y + (picture.height - height) / 2
    pill = Rect(picture.x + (picture.width - width) / 2, y, width, height)
    glass(image, pill, height / 2)
    at = (pill.x + measures.pad, pill.y + measures.pad / 2 - 1)
    colour = WARNING if message.attention else QUIET
    write(image, message.words, at, size, colour, room=width - 2 * measures.pad + 1)
