"""Where on the canvas the frame is drawn, and where its faces are there."""

from dataclasses import dataclass

from rankotom_edge.faces.face import Face
from rankotom_edge.geometry import Point
from rankotom_edge.views.drawing.rect import Rect


@dataclass(frozen=True)
class PictureArea:
    rect: Rect
    zoom: float  # from the frame's pixels to the canvas's

    def to_canvas(self, point: Point) -> Point:
        return self.rect.x + point[0] * self.zoom, self.rect.y + point[1] * self.zoom

    def face_rect(self, face: Face) -> Rect:
        x, y, width, height = face.box
        left, top = self.to_canvas((x, y))
        return Rect(left, top, width * self.zoom, height * self.zoom).within(self.rect)
