"""Images of half blocks: two pixels a cell."""

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from rankotom_edge.views.terminal.half_blocks import HalfBlocks, fit_image


def test_a_cell_has_the_upper_pixel_before_and_the_lower_behind() -> None:
    image = np.zeros((2, 1, 3), np.uint8)
    image[0, 0], image[1, 0] = (0, 0, 255), (255, 0, 0)  # BGR: red above blue
    console = Console(file=StringIO(), force_terminal=True, color_system="truecolor")
    (line,) = console.render_lines(HalfBlocks(image), pad=False)
    (cell,) = (segment for segment in line if segment.text.strip())
    assert cell.text == "▀"
    assert cell.style is not None
    red, blue = cell.style.color, cell.style.bgcolor
    assert red is not None
    assert blue is not None
    assert red.triplet is not None
    assert blue.triplet is not None
    assert red.triplet.red > 240 > 10 > red.triplet.blue
    assert blue.triplet.blue > 240 > 10 > blue.triplet.red


@pytest.mark.parametrize(("columns", "rows"), [(38, 12), (10, 30), (200, 60), (1, 1)])
def test_the_whole_image_fits_and_its_height_is_even(columns: int, rows: int) -> None:
    image = np.zeros((480, 640, 3), np.uint8)
    height, width = fit_image(image, columns, rows).shape[:2]
    assert width <= columns
    assert height <= 2 * rows
    assert height % 2 == 0
    assert width == columns or height >= 2 * rows - 1
