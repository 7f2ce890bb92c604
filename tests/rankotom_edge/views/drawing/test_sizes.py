from rankotom_edge.views.drawing.sizes import Sizes


def test_sizes_grow_with_the_unit_and_no_line_vanishes() -> None:
    small, large = Sizes(1.0), Sizes(2.0)
    assert (small.text, large.text) == (12, 24)
    assert large.card_width == 2 * small.card_width
    assert small.px(0.2) == 1
