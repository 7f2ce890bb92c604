"""The variants of Table 1's rows are recipes of their own."""

from dataclasses import replace

import pytest

from calib.errors import RankotomError
from train.experiments.table1 import ROWS, STARTS
from train.experiments.table1_reasons import VARIANTS, main


def test_each_variant_is_another_recipe_and_the_rows_themselves_are_there() -> None:
    base = STARTS["random"]
    recipes = {name: replace(base, **changes) for name, changes in VARIANTS.items()}
    assert len({recipe.as_json() for recipe in recipes.values()}) == len(VARIANTS)
    rows = {row.name: row.recipe(base) for row in ROWS}
    for name in ("cross-entropy", "EAC", "RAC"):
        assert recipes[name] == rows[name]
    assert recipes["Rank-O-ToM"] == rows["Rank-O-ToM, paper"]


def test_an_unknown_variant_is_named() -> None:
    with pytest.raises(RankotomError, match="no variant 'SCN'"):
        main(only=["SCN"])
