"""The two parts of a loss, and of its gradient, worked out by hand."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from runpy import run_path

import pytest
import torch

from train.batches import Batch, TrainingFaces
from train.experiments.loss_balance import TERMS, balance
from train.methods.settings import EacSettings
from train.ranks import Ranks
from train.recipe import Recipe

HAND = run_path(str(Path(__file__).parents[1] / "methods" / "conftest.py"))
hand_recipe, hand_faces, hand_batch = (
    HAND[name] for name in ("hand_recipe", "hand_faces", "hand_batch")
)


def test_eacs_agreement_pulls_fifty_times_as_hard_as_the_label_of_a_lopsided_face(
    hand_recipe: Recipe,
    hand_faces: Callable[..., TrainingFaces],
    hand_batch: Callable[..., Batch],
    alone: Ranks,
) -> None:
    """The face of tests/train/methods/test_eac.py: by the columns' weights the label loss has the
    gradient (0.25, -0.25), and agreement (12.5, -12.5).
    """
    network = HAND["HandNetwork"]([1.0, 2.0], [0.0, -0.25], importance=False)
    network.columns.data = torch.tensor([1.0, 0.5])
    recipe = replace(hand_recipe, method="eac", eac=EacSettings(erase_chance=0.0))
    without = replace(recipe, eac=EacSettings(weight=0.0, erase_chance=0.0))
    batch = hand_batch([(255, 0)], [0])
    found = balance((recipe, without), hand_faces([0, 1]), network, alone, batch)
    assert (found.label, found.term) == pytest.approx((0.693147, 3.125), abs=1e-5)
    assert found.term_pull == pytest.approx(50 * found.label_pull)
    assert found.cosine == pytest.approx(1.0)


def test_each_term_is_all_that_differs_between_its_two_recipes(recipe: Recipe) -> None:
    for with_term, without in TERMS.values():
        assert replace(recipe, **with_term) != replace(recipe, **without)
        assert with_term.keys() <= without.keys()
        changed = {key for key in without if with_term.get(key) != without[key]}
        assert len(changed) == 1
