"""The division of the window: picture, column, status line."""

import pytest

from rankotom_edge.views.window.layout import divide_window


@pytest.mark.parametrize("column", [False, True])
@pytest.mark.parametrize("room", [(1280, 720), (640, 506), (800, 900)])
def test_the_parts_fill_the_window_and_do_not_overlap(room: tuple[int, int], column: bool) -> None:
    layout = divide_window((640, 480), room, column=column, status_lines=1)
    assert (layout.width, layout.height) == room
    picture = layout.picture.rect
    assert layout.around.contains(picture)
    assert not picture.overlaps(layout.status)
    assert layout.status.bottom == layout.height
    assert (layout.column is not None) == column
    if layout.column is not None:
        assert not layout.around.overlaps(layout.column)
        assert layout.column.right <= layout.width


def test_the_picture_keeps_its_ratio() -> None:
    layout = divide_window((1920, 1080), (1000, 900), column=False, status_lines=1)
    picture = layout.picture.rect
    assert picture.width / picture.height == pytest.approx(16 / 9, abs=0.01)


def test_at_its_own_size_a_frame_is_not_scaled() -> None:
    layout = divide_window((640, 480), None, column=False, status_lines=1)
    assert layout.picture.zoom == 1.0
    assert layout.width == 640


def test_a_second_status_line_takes_its_height_from_the_picture() -> None:
    one, two = (
        divide_window((640, 480), (1280, 720), column=False, status_lines=lines) for lines in (1, 2)
    )
    assert two.status.height > one.status.height
    assert two.picture.rect.height < one.picture.rect.height


def test_text_never_has_less_than_12_pixels() -> None:
    for room in ((160, 120), (640, 480), (3840, 2160)):
        assert divide_window((640, 480), room, column=True, status_lines=1).sizes.text >= 12
