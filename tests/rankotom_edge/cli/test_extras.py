"""A command that lacks an optional dependency says which extra to install."""

import importlib
import sys

import pytest

from calib.errors import RankotomError
from rankotom_edge.cli.extras import extra


def test_a_missing_extra_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with (
        pytest.raises(RankotomError, match=r"torch.*pip install 'rankotom-edge\[train\]'"),
        extra("train"),
    ):
        importlib.import_module("torch")


def test_an_extra_that_is_there_is_not_in_the_way() -> None:
    with extra("train"):
        module = importlib.import_module("json")
    assert module.loads("1") == 1


def test_a_missing_module_of_ours_is_a_bug_and_stays_one() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"calib\.nowhere"), extra("train"):
        importlib.import_module("calib.nowhere")
