"""The page in a browser, for the pictures."""

from collections.abc import Callable
from types import ModuleType

import pytest

from calib.errors import RankotomError


def test_the_link_is_the_one_that_camera_prints(load_script: Callable[[str], ModuleType]) -> None:
    lines = ["note: something\n", "The page: http://127.0.0.1:41234/\n", "never read\n"]
    assert load_script("web_page").printed_link(lines) == "http://127.0.0.1:41234/"


def test_what_camera_said_in_place_of_a_link_is_in_the_error(
    load_script: Callable[[str], ModuleType],
) -> None:
    with pytest.raises(RankotomError, match="no camera here"):
        load_script("web_page").printed_link(["no camera here\n"])
