"""Every method is found by its name, and described in its package."""

from dataclasses import replace
from typing import get_args

import pytest
import torch

import train.methods
from train.batches import TrainingFaces
from train.methods.registry import METHODS, build_method
from train.methods.settings import MethodName
from train.networks import build_network
from train.ranks import Ranks
from train.recipe import Recipe


def test_every_name_that_a_recipe_may_have_is_a_method_with_a_file_of_its_own() -> None:
    assert set(METHODS) == set(get_args(MethodName))
    modules = [method.__module__ for method in METHODS.values()]
    assert modules == [f"train.methods.{name.replace('-', '_')}" for name in METHODS]
    assert train.methods.__doc__ is not None
    assert all(name.replace("-", "_") in train.methods.__doc__ for name in METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_a_recipes_method_is_built(
    name: MethodName, recipe: Recipe, faces: TrainingFaces, alone: Ranks
) -> None:
    torch.manual_seed(0)
    network = build_network(
        "edge-narrow", channels=1, classes=4, dropout=0.0, importance=name == "scn"
    )
    method = build_method(replace(recipe, method=name), faces, network, alone)
    assert type(method) is METHODS[name]
