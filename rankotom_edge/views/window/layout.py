"""How the window is divided: the picture, a column beside it, a line beneath."""

from __future__ import annotations

from dataclasses import dataclass

from rankotom_edge.faces.face import Face
from rankotom_edge.geometry import Point
from rankotom_edge.views.window.panel_placement import Rect
from rankotom_edge.views.window.panels import Measures

COLUMNS, LINES = 640, 480  # of the picture at which a unit is a pixel, and text 12 pixels high
MOST_LINES = 1440  # a photograph of 12 megapixels is drawn no larger than this
MOST_SIDE = 4096  # pixels, of a picture that is a mere stripe
# Letters grow with the picture, but less: on a large screen there is room for more of them.
GROWTH = 0.75


FOOT_PAD, FOOT_LINE = 6, 20
ASIDE, HAIR, CHIN = 0.06, 0.45, 0.08  # of a head beyond its box, in shares of the box


@dataclass(frozen=True)
class Sheet:
    width: int
    height: int
    picture: Rect
    around: Rect  # the picture and what it leaves free on its sides
    column: Rect | None
    foot: Rect
    zoom: float  # from the frame's pixels to the sheet's
    measures: Measures

    def on_sheet(self, point: Point) -> Point:
        return self.picture.x + point[0] * self.zoom, self.picture.y + point[1] * self.zoom

    def face_rect(self, face: Face) -> Rect:
        x, y, width, height = face.box
        left, top = self.on_sheet((x, y))
        return Rect(left, top, width * self.zoom, height * self.zoom).within(self.picture)

    def head_rect(self, face: Face) -> Rect:
        """With the forehead and the hair, which the detector's box leaves out, and the chin."""
        x, y, width, height = face.box
        left, top = self.on_sheet((x - ASIDE * width, y - HAIR * height))
        head = Rect(
            left,
            top,
            (1 + 2 * ASIDE) * width * self.zoom,
            (1 + HAIR + CHIN) * height * self.zoom,
        )
        return head.within(self.picture)


def divide(
    frame: tuple[int, int], room: tuple[int, int] | None, column: bool, foot_lines: int
) -> Sheet:
    """For a frame of this width and height: to fill the room there is, or at its own size.

    Text has at least 12 pixels; a smaller window gets a larger sheet, to shrink as it can.
    """
    wide, high = frame
    foot_share = FOOT_PAD + FOOT_LINE * foot_lines
    if room is None:
        lines = _lines(wide, high)
        growth = min(max(lines, LINES), MOST_LINES) / LINES
        zoom = min(growth * LINES / lines, MOST_SIDE / max(wide, high))
    else:
        growth = min(room[0] / COLUMNS, room[1] / (LINES + foot_share))
    measures = Measures(max(1.0, growth) ** GROWTH)
    gap, foot_height = measures.px(8), measures.px(foot_share)
    column_width = measures.width + 2 * gap if column else 0
    if room is None:
        width, height = round(wide * zoom) + column_width, round(high * zoom) + foot_height
    else:
        width, height = (round(length / min(1.0, growth)) for length in room)
        zoom = min((width - column_width) / wide, (height - foot_height) / high)
    shown = (max(1, round(wide * zoom)), max(1, round(high * zoom)))
    left = (width - column_width - shown[0]) // 2
    top = (height - foot_height - shown[1]) // 2
    picture = Rect(left, top, *shown)
    around = Rect(0, 0, width - column_width, height - foot_height)
    beside = Rect(width - column_width + gap, gap, measures.width, height - foot_height - 2 * gap)
    foot = Rect(0, height - foot_height, width, foot_height)
    return Sheet(width, height, picture, around, beside if column else None, foot, zoom, measures)


def _lines(width: float, height: float) -> float:
    """Of the largest upright 4:3 picture inside: a narrow one must not get wide letters."""
    return min(height, width * LINES / COLUMNS)
