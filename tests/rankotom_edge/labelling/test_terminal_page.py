"""The page of a rater as terminals of many sizes get it."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from calib.emotions import EMOTIONS
from rankotom_edge.labelling.labelling import Labelling
from rankotom_edge.labelling.terminal_page import render


def printed(labelling: Labelling, size: tuple[int, int]) -> list[str]:
    console = Console(file=io.StringIO(), width=size[0], height=size[1], force_terminal=True)
    lines = console.render_lines(render(labelling, size), pad=False)
    return ["".join(segment.text for segment in segments).rstrip() for segments in lines]


@pytest.mark.parametrize("size", [(60, 20), (61, 33), (100, 30), (80, 24), (220, 60), (60, 90)])
@pytest.mark.parametrize("shape", [(300, 300), (40, 400), (400, 40), (1, 1)])
def test_the_whole_page_fits_whatever_the_shape_of_the_picture(
    faces: Callable[..., Any], size: tuple[int, int], shape: tuple[int, int]
) -> None:
    face = replace(faces(1)[0], picture=np.full((*shape, 3), 90, np.uint8))
    labelling = Labelling([face], EMOTIONS, "x" * 40, given={}, keep=lambda face, said: None)
    lines = printed(labelling, size)
    assert len(lines) == size[1]
    assert max(map(len, lines)) <= size[0]
    page = "\n".join(lines)
    assert all(f"{number} ● {name}" in page for number, name in enumerate(EMOTIONS, 1))
    assert "finish for now" in page
    assert lines[-1].strip() == "0 of 1 face, 1 to go"


def test_long_names_are_cut_and_push_nothing_away(faces: Callable[..., Any]) -> None:
    names = [f"a very long name of an expression {number}" for number in range(9)]
    labelling = Labelling(faces(2), names, "Anna", given={}, keep=lambda face, said: None)
    labelling.press("9")
    page = "\n".join(printed(labelling, (60, 20)))
    assert all(f"{number} ● a very long" in page for number in range(1, 10))
    assert "back (a very" in page
    assert "finish for now" in page


def test_the_answers_that_back_leads_to_are_the_raters_own(faces: Callable[..., Any]) -> None:
    labelling = Labelling(faces(3), EMOTIONS, "Anna", given={}, keep=lambda face, said: None)
    assert "back\n" in "\n".join(printed(labelling, (80, 24))) + "\n"
    labelling.press("0")
    assert "back (can't tell)" in "\n".join(printed(labelling, (80, 24)))
    labelling.press("b")
    assert "can't tell yours" in "\n".join(printed(labelling, (80, 24)))
