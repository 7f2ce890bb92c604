"""What the training loop asks of a method: the loss of a batch, and a state for the checkpoint."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from train.augment import augment
from train.batches import Batch, TrainingFaces
from train.ranks import Ranks
from train.recipe import Recipe


@dataclass(frozen=True)
class StepResult:
    loss: Tensor
    probabilities: Tensor  # of the FER faces
    offered: int = 0  # FR faces in the batch
    kept: int = 0  # of those, with a pseudo-label


@dataclass
class EpochMeans:
    """Figures of each step, as means over an epoch and all ranks, for the log."""

    totals: list[float] = field(default_factory=list)
    steps: int = 0

    def add(self, *figures: Tensor) -> None:
        totals = self.totals or [0.0] * len(figures)
        self.totals = [
            total + float(figure.detach()) for total, figure in zip(totals, figures, strict=True)
        ]
        self.steps += 1

    def take(self, ranks: Ranks) -> list[float]:
        """The means, and start again."""
        *totals, steps = ranks.totals(*self.totals, self.steps)
        self.totals, self.steps = [], 0
        return [total / max(steps, 1) for total in totals]


class Method:
    """A method without a state and with one pass a face; the others override what differs."""

    def __init__(
        self, recipe: Recipe, faces: TrainingFaces, network: nn.Module, ranks: Ranks
    ) -> None:
        self.recipe, self.ranks, self.network = recipe, ranks, network
        self.parallel = ranks.wrap(self.passes(network))
        self.means = EpochMeans()

    def passes(self, network: nn.Module) -> nn.Module:
        """What several processes run together: the network, or a module of several passes."""
        return network

    def step(self, batch: Batch) -> StepResult:
        """The loss of one batch."""
        raise NotImplementedError

    def end_epoch(self, epoch: int) -> str:
        """Update the state after an epoch, and say what happened in it, for the log."""
        return ""

    def state(self) -> Mapping[str, Tensor]:
        """What the checkpoint keeps beside weights and optimiser, the same on every rank."""
        return {}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Continue from what ``state`` returned."""

    def augmented(self, batch: Batch) -> Tensor:
        return augment(batch.fer, batch.draws, self.recipe.size_at(batch.epoch))

    def run(self, batch: Batch, *views: Tensor) -> tuple[Tensor, ...]:
        """The outputs of ``passes`` for augmented faces, in FP32."""
        torch.manual_seed(batch.seed + self.ranks.rank)  # dropout
        views = tuple(view.contiguous(memory_format=torch.channels_last) for view in views)
        with precision(self.recipe, views[0].device):
            outputs = self.parallel(*views)
        return tuple(
            each.float() for each in (outputs if isinstance(outputs, tuple) else [outputs])
        )


def precision(recipe: Recipe, device: torch.device) -> torch.autocast:
    """Convolutions in bfloat16: always on a GPU, on a CPU if the recipe says so."""
    return torch.autocast(
        device.type, torch.bfloat16, enabled=device.type == "cuda" or recipe.bfloat16
    )
