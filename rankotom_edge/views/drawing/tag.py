"""Words on a face's colour: its caption, or the number of its box, card or crop."""

from rankotom_edge.frame import Image
from rankotom_edge.geometry import Point
from rankotom_edge.readings.reading import Reading
from rankotom_edge.views.drawing.canvas import draw_text, fill_rect
from rankotom_edge.views.drawing.rect import Rect
from rankotom_edge.views.drawing.sizes import Sizes
from rankotom_edge.views.drawing.text import line_height, text_width
from rankotom_edge.views.palette import headline_colour, text_colour_on


def tag_width(text: str, sizes: Sizes) -> int:
    return text_width(text, sizes.text, bold=True) + 2 * sizes.px(5)


def tag_height(sizes: Sizes) -> int:
    return line_height(sizes.text, bold=True) + sizes.px(4)


def draw_tag(image: Image, corner: Point, text: str, reading: Reading, sizes: Sizes) -> None:
    """``corner`` is the upper left one."""
    x, y = corner
    colour = headline_colour(reading)
    fill_rect(image, Rect(x, y, tag_width(text, sizes), tag_height(sizes)), colour, sizes.px(4))
    at = (round(x) + sizes.px(5), round(y) + sizes.px(2) - 1)
    draw_text(image, text, at, sizes.text, text_colour_on(colour), bold=True)
