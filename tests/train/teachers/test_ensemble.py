"""Members of an ensemble: runs with one view or two, and model files."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from train.checkpoint import save_checkpoint
from train.loop import build_optimizer
from train.networks import build_network
from train.recipe import EDGE_FERPLUS
from train.teachers.ensemble import ensemble_logits, load_member

FACES = np.random.default_rng(0).integers(0, 256, (3, 1, 48, 48), np.uint8)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    recipe = replace(EDGE_FERPLUS, network="edge-narrow")
    network = build_network("edge-narrow", channels=1, classes=8, dropout=0.0)
    save_checkpoint(
        tmp_path / "checkpoint.safetensors",
        recipe=recipe,
        epoch=1,
        network=network,
        averaged=network,
        optimizer=build_optimizer(recipe, network),
        method={"thresholds": torch.zeros(8)},
    )
    return tmp_path


def test_two_views_are_a_face_and_its_mirror_image(run: Path) -> None:
    one, two = load_member(str(run), views=1), load_member(str(run), views=2)
    assert one.name == run.name
    mean = (one.logits(FACES) + one.logits(FACES[..., ::-1])) / 2
    assert two.logits(FACES) == pytest.approx(mean, abs=0.02)


def test_an_embedded_model_can_be_a_member() -> None:
    member = load_member("ferplus-fp32")
    assert member.name == "ferplus-fp32"
    assert member.logits(FACES).shape == (3, 8)


def test_the_ensembles_softmax_is_the_mean_probability_also_of_zeros() -> None:
    logits = ensemble_logits([np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]])])
    assert np.exp(logits) == pytest.approx(np.array([[0.75, 0.25]]))
    assert np.isfinite(ensemble_logits([np.array([[1.0, 0.0]])])).all()
