"""A network small enough to compute by hand: its maps are the picture, weighed by column.

A face has 2 x 2 pixels of one channel. Each column of the picture is multiplied by its own weight,
which makes the maps of a face and of its mirror image differ; the last layer has a number a class.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Generator, Tensor, nn

from train.augment import Strength, draw
from train.batches import Batch, TrainingFaces
from train.networks import ImportanceLinear, ResNet
from train.recipe import Recipe

WHITE, BLACK = 255, 0  # 1 and -1 for the network


class HandNetwork(ResNet):
    def __init__(self, weight: Sequence[float], bias: Sequence[float], importance: bool) -> None:
        nn.Module.__init__(self)
        self.columns = nn.Parameter(torch.ones(2))
        self.dropout = nn.Dropout(0.0)
        self.fc = (ImportanceLinear if importance else nn.Linear)(1, len(weight))
        self.fc.weight.data = torch.tensor(weight)[:, None]
        self.fc.bias.data = torch.tensor(bias)

    def features(self, x: Tensor) -> Tensor:
        return x * self.columns


@pytest.fixture(scope="session")
def hand_network() -> Callable[..., nn.Module]:
    def make(weight: Sequence[float], bias: Sequence[float], importance: bool = False) -> nn.Module:
        return HandNetwork(weight, bias, importance)

    return make


@pytest.fixture
def hand_recipe(recipe: Recipe) -> Recipe:
    """Faces as they are: not augmented, in one batch, ten epochs."""
    return replace(
        recipe, size=2, batch=2, epochs=10, dropout=0.0, strength=Strength(0.0, flip=False)
    )


@pytest.fixture(scope="session")
def hand_faces() -> Callable[..., TrainingFaces]:
    def make(labels: Sequence[int], peaks: Sequence[float] | None = None) -> TrainingFaces:
        fer = np.zeros((len(labels), 1, 2, 2), np.uint8)
        classes = ("one", "two", "three")[: max(labels) + 1]
        return TrainingFaces(
            classes=classes,
            fer=fer,
            labels=np.array(labels),
            targets=np.eye(len(classes), dtype=np.float32)[labels],
            fr=None,
            choose=fer,
            choose_labels=np.array(labels),
            vote_peaks=None if peaks is None else np.array(peaks, np.float32),
        )

    return make


@pytest.fixture(scope="session")
def hand_batch() -> Callable[..., Batch]:
    """The training faces 0, 1, ... with these columns, (left, right), and these labels."""

    def make(
        columns: Sequence[tuple[int, int]],
        labels: Sequence[int],
        classes: int = 2,
        epoch: int = 0,
        progress: float = 1.0,
    ) -> Batch:
        count, none = len(columns), draw(0, Strength(), Generator())
        return Batch(
            fer=torch.tensor(columns, dtype=torch.uint8)[:, None, None].repeat(1, 1, 2, 1),
            where=torch.arange(count),
            places=torch.arange(count),
            labels=torch.tensor(labels),
            targets=torch.eye(classes)[labels],
            tilt=torch.zeros(classes),
            draws=draw(count, Strength(0.0, flip=False), Generator()),
            fr=None,
            fr_draws=(none, none, none),
            blend_draws=none,
            fer_above=torch.zeros(0, dtype=torch.bool),
            seed=0,
            epoch=epoch,
            progress=progress,
        )

    return make
