"""The moving picture of the README: what is read in it, and the file."""

import itertools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def moving(load_script: Callable[[str], ModuleType]) -> ModuleType:
    return load_script("moving_picture")


def test_the_file_is_an_animation_under_two_megabytes() -> None:
    path = ROOT / "docs" / "images" / "live.webp"
    assert path.stat().st_size < 2_000_000
    with Image.open(path) as picture:
        assert picture.n_frames > 50
        assert picture.width >= 800


def test_the_drawn_face_is_read_as_an_expression_a_blend_and_unsure(moving: ModuleType) -> None:
    drawing = moving.FaceDrawing(moving.FRAME, moving.CENTRE, moving.SCALE)
    words = []
    for act in moving.acts_in(moving.find_darkness()):
        picture = drawing.draw(act.expression, act.light)
        words.append(moving.words_for(moving.read_pictures([picture] * moving.FPS)[-1].readings[0]))
    sure, blend, unsure = moving.SURE_WORDS, moving.BLEND_WORDS, moving.UNSURE_WORDS
    assert words == [sure, sure, blend, unsure, sure]


def test_a_face_changes_gently_and_ends_as_the_act_says(moving: ModuleType) -> None:
    drawing, acts = moving.FaceDrawing((160, 120), (80, 50), 25), moving.acts_in(0.1)
    at_rest, smiling = drawing.draw(moving.REST), drawing.draw(moving.SMILE)
    start = acts[1].start
    np.testing.assert_array_equal(moving.drawn_picture(drawing, start - 0.01, acts), at_rest)
    np.testing.assert_array_equal(moving.drawn_picture(drawing, start + moving.MOVE, acts), smiling)
    steps = [moving.drawn_picture(drawing, start + 0.1 * tenth, acts) for tenth in range(9)]
    changes = [
        np.abs(after.astype(int) - before).mean() for before, after in itertools.pairwise(steps)
    ]
    assert max(changes) < 0.5 * np.abs(smiling.astype(int) - at_rest).mean()


def test_equal_pictures_become_one_that_stays_longer(moving: ModuleType, tmp_path: Path) -> None:
    dark, bright = (np.full((20, 30, 3), level, np.uint8) for level in (20, 220))
    moving.write_webp([(dark, 100), (dark, 100), (bright, 100)], tmp_path / "moving.webp")
    with Image.open(tmp_path / "moving.webp") as picture:
        assert (picture.n_frames, picture.size) == (2, (30, 20))
        picture.load()
        assert picture.info["duration"] == 200


def test_scenes_fade_into_each_other_and_the_last_into_the_first(moving: ModuleType) -> None:
    dark, bright = (np.full((20, 30, 3), level, np.uint8) for level in (0, 200))
    levels = [picture[0, 0, 0] for picture, _ in moving.faded([[dark], [bright]])]
    assert levels == [0, 50, 100, 150, 200, 150, 100, 50]
