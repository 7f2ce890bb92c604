"""Text as masks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rankotom_edge.views.drawing import text as text_module
from rankotom_edge.views.drawing.text import line_height, shorten, text_mask, text_width


@pytest.fixture
def _without_fonts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for known in (text_module._font, text_width, line_height, shorten):
        known.cache_clear()
    monkeypatch.setattr(text_module, "_font_folder", lambda: tmp_path)
    yield
    for known in (text_module._font, text_width, line_height, shorten):
        known.cache_clear()


def test_text_is_as_wide_as_it_says_and_smooth() -> None:
    mask = text_mask("happiness", 12)
    assert mask.shape == (line_height(12), text_width("happiness", 12) + 1)
    assert mask.max() == 255
    assert len(np.unique(mask)) > 20  # anti-aliased


def test_texts_on_a_line_share_its_height() -> None:
    assert text_mask("aaa", 15).shape[0] == text_mask("gÅj", 15).shape[0]


def test_bold_is_wider_and_all_digits_are_equally_wide() -> None:
    assert text_width("neutral", 15, bold=True) > text_width("neutral", 15)
    assert len({text_width(digit, 12) for digit in "0123456789"}) == 1  # no number jitters


@pytest.mark.parametrize("room", [0, 5, 40, 80, 500])
def test_text_that_is_too_wide_is_cut_with_an_ellipsis(room: int) -> None:
    text = "41 % sure, 62 % needed"
    short = shorten(text, room, 12)
    assert text_width(short, 12) <= room
    assert short == text or short == "" or short.endswith("…")


@pytest.mark.usefixtures("_without_fonts")
def test_pillow_s_own_letters_serve_where_matplotlib_has_none() -> None:
    assert text_mask("happiness 83 %", 14).max() > 200
