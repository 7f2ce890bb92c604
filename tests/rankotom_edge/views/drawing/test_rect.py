from rankotom_edge.views.drawing.rect import Rect


def test_rectangles_with_a_common_edge_keep_it_in_pixels() -> None:
    left, right = Rect(0.4, 0, 10.3, 5), Rect(10.7, 0, 4.9, 5)
    x, _, width, _ = left.pixels
    assert x + width == right.pixels[0]


def test_the_part_within_another_may_be_empty() -> None:
    area = Rect(0, 0, 100, 50)
    assert Rect(-10, 40, 30, 30).within(area) == Rect(0, 40, 20, 10)
    outside = Rect(200, 200, 10, 10).within(area)
    assert (outside.width, outside.height) == (0, 0)
    assert area.contains(outside)


def test_rectangles_that_only_touch_do_not_overlap() -> None:
    assert not Rect(0, 0, 10, 10).overlaps(Rect(10, 0, 10, 10))
    assert Rect(0, 0, 10, 10).grow(1).overlaps(Rect(10, 0, 10, 10))
