"""The pictures of the README."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import cv2
import numpy as np
from rich.text import Text


def test_a_report_becomes_an_svg_that_loads_no_font(
    load_script: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    path = tmp_path / "report.svg"
    load_script("pictures").draw_report(Text("hello"), "a title", path)
    drawn = path.read_text(encoding="utf-8")
    assert "hello" in drawn
    assert "@font-face" not in drawn


def test_a_picture_becomes_a_jpeg_of_its_size(
    load_script: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    path = tmp_path / "picture.jpg"
    load_script("pictures").write_jpeg(np.full((30, 40, 3), 128, np.uint8), path, 90)
    read = cv2.imread(str(path))
    assert read is not None
    assert read.shape == (30, 40, 3)
