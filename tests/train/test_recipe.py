"""Recipes have the paper's numbers, and a purpose."""

import json
from dataclasses import replace

import pytest

from calib.errors import RankotomError
from train.augment import Strength
from train.recipe import PURPOSES, RECIPES, Recipe, find_recipe


@pytest.mark.parametrize(
    ("name", "dataset", "network"),
    [
        ("paper-ferplus", "ferplus", "resnet18"),
        ("paper-rafdb", "rafdb", "resnet18"),
        ("paper-affectnet", "affectnet", "resnet50"),
    ],
)
def test_a_paper_recipe_has_the_papers_numbers(name: str, dataset: str, network: str) -> None:
    recipe = find_recipe(name)
    assert (recipe.dataset, recipe.network) == (dataset, network)
    assert (recipe.size, recipe.channels) == (224, 3)
    assert (recipe.optimizer, recipe.learning_rate, recipe.schedule) == ("adam", 5e-4, "constant")
    assert (recipe.batch, recipe.epochs) == (64, 60)
    assert (recipe.loss, recipe.focal_gamma, recipe.focal_alpha) == ("focal", 2.0, 0.25)
    assert recipe.ranking_weight == 1.0
    assert 0.1 <= recipe.ranking_margin <= 0.3
    assert (recipe.threshold_start, recipe.threshold_beta) == (0.95, 0.97)
    assert (recipe.targets, recipe.pseudo_targets) == ("majority", "label")
    assert recipe.blends
    assert recipe.face_recognition
    assert recipe.partners_at(0) == 64
    assert recipe.strength == Strength(flip=True)  # random crop and flip
    assert (recipe.ema, recipe.dropout, recipe.weight_decay, recipe.sizes) == (0, 0, 0, ())


def test_the_embedded_model_is_grey_and_of_48_pixels() -> None:
    recipe = find_recipe("edge-ferplus")
    assert (recipe.network, recipe.size, recipe.channels) == ("edge", 48, 1)
    assert recipe.size_at(recipe.epochs - 1) == 48


def test_the_size_grows_with_the_share_of_epochs_done() -> None:
    recipe = Recipe(name="growing", epochs=10, size=48, sizes=((0.0, 32), (0.6, 40), (0.8, 48)))
    assert [recipe.size_at(epoch) for epoch in range(10)] == [32] * 6 + [40] * 2 + [48] * 2


def test_without_sizes_it_is_always_the_full_one() -> None:
    assert {Recipe(name="plain").size_at(epoch) for epoch in range(60)} == {224}


def test_partners_join_after_their_share_of_the_epochs() -> None:
    recipe = Recipe(name="late", epochs=10, batch=64, partners=0.25, partners_from=0.4)
    assert [recipe.partners_at(epoch) for epoch in (0, 3, 4, 9)] == [0, 0, 16, 16]


@pytest.mark.parametrize("partners", [-0.1, 1.5])
def test_partners_outside_0_to_1_are_an_error(partners: float) -> None:
    with pytest.raises(RankotomError, match="partners"):
        Recipe(name="crowded", partners=partners)


def test_a_recipe_as_json_has_every_field_and_is_the_same_every_time() -> None:
    recipe = find_recipe("edge-ferplus")
    read = json.loads(recipe.as_json())
    assert read["strength"]["rotation"] == recipe.strength.rotation
    assert read["sizes"] == [list(each) for each in recipe.sizes]
    assert replace(recipe).as_json() == recipe.as_json()
    assert replace(recipe, seed=1).as_json() != recipe.as_json()


def test_an_unknown_recipe_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(RankotomError, match=r"'paper-fer'.*paper-ferplus.*edge-ferplus"):
        find_recipe("paper-fer")


def test_every_recipe_says_what_it_is_for() -> None:
    assert PURPOSES.keys() == RECIPES.keys()
