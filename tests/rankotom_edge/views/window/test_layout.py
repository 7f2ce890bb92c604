"""The division of the window: picture, column, status line."""

import pytest

from rankotom_edge.views.window.layout import divide_window

ROOMS = [(640, 480), (1280, 720), (1920, 1080), (3840, 2160), (800, 900), (480, 800), (2560, 600)]


@pytest.mark.parametrize("frame", [(640, 480), (1920, 1080), (1080, 1920)])
@pytest.mark.parametrize("room", ROOMS)
def test_the_parts_fill_the_window_and_do_not_overlap(
    room: tuple[int, int], frame: tuple[int, int]
) -> None:
    layout = divide_window(frame, room, status_lines=1)
    assert layout.width / layout.height == pytest.approx(room[0] / room[1], abs=0.01)
    assert layout.width >= room[0]
    picture, column = layout.picture.rect, layout.column
    assert layout.around.contains(picture)
    assert not layout.around.overlaps(layout.status)
    assert not column.overlaps(layout.around)
    assert not column.overlaps(layout.status)
    assert layout.status.bottom == layout.height
    assert column.right <= layout.width
    assert picture.width / picture.height == pytest.approx(frame[0] / frame[1], rel=0.02)


@pytest.mark.parametrize("room", [(640, 480), (1280, 800), (1920, 1080)])
def test_the_column_is_beside_the_picture_and_in_a_portrait_window_below_it(
    room: tuple[int, int],
) -> None:
    wide, high = (divide_window((640, 480), size, status_lines=1) for size in (room, room[::-1]))
    assert wide.column.x > wide.around.right
    assert high.column.y > high.around.bottom


def test_the_column_takes_what_the_picture_leaves_over() -> None:
    narrow, wide = (
        divide_window(frame, (1280, 720), status_lines=1) for frame in ((1280, 720), (640, 480))
    )
    assert wide.column.width > narrow.column.width
    assert wide.picture.rect.height == pytest.approx(wide.around.height, abs=1)


def test_without_a_window_a_frame_has_its_own_size_unless_it_is_tiny_or_huge() -> None:
    for frame in ((640, 480), (1280, 720), (1920, 1080)):
        assert divide_window(frame, None, status_lines=1).picture.zoom == pytest.approx(1, abs=0.02)
    assert divide_window((320, 180), None, status_lines=1).picture.zoom > 1.9
    assert divide_window((8000, 6000), None, status_lines=1).picture.rect.height < 1500


def test_a_second_status_line_takes_its_height_from_the_picture() -> None:
    one, two = (divide_window((640, 480), (1280, 720), status_lines=lines) for lines in (1, 2))
    assert two.status.height > one.status.height
    assert two.around.height < one.around.height


@pytest.mark.parametrize("room", [(160, 120), *ROOMS])
def test_text_never_has_less_than_12_pixels(room: tuple[int, int]) -> None:
    assert divide_window((640, 480), room, status_lines=1).sizes.text >= 12


def test_at_640x480_nothing_is_shrunk_afterwards() -> None:
    layout = divide_window((640, 480), (640, 480), status_lines=2)
    assert (layout.width, layout.height) == (640, 480)
