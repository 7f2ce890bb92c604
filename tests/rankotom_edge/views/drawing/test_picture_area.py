from rankotom_edge.faces.face import Face
from rankotom_edge.views.drawing.picture_area import PictureArea
from rankotom_edge.views.drawing.rect import Rect

AREA = PictureArea(Rect(20, 10, 320, 240), zoom=0.5)
FACE = Face((200, 120, 100, 100), (230, 150), (270, 150), (250, 170), (250, 190), 0.9)


def test_the_frame_is_scaled_into_its_place() -> None:
    assert AREA.to_canvas((0, 0)) == (20, 10)
    assert AREA.to_canvas((640, 480)) == (340, 250)
    assert AREA.face_rect(FACE) == Rect(120, 70, 50, 50)


def test_a_face_at_the_border_is_cut_off_there() -> None:
    outside = Face((600, -40, 100, 100), (0, 0), (0, 0), (0, 0), (0, 0), 0.9)
    assert AREA.face_rect(outside) == Rect(320, 10, 20, 30)
