"""Labels for faces that have none: class thresholds that follow the model's confidence."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

# lambda_c of Eq. 5, the same for every class: both views count alike.
INTERPOLATION = 0.5


@dataclass
class CorrectConfidence:
    """Sum and count of the confidence of correctly predicted FER faces, by class, in one epoch."""

    total: Tensor
    count: Tensor

    @classmethod
    def none(cls, classes: int) -> "CorrectConfidence":
        return cls(
            torch.zeros(classes, dtype=torch.float64), torch.zeros(classes, dtype=torch.float64)
        )

    def add(self, probabilities: Tensor, labels: Tensor) -> None:
        confidence, predicted = probabilities.detach().max(dim=1)
        correct = predicted == labels
        where = labels[correct].cpu()
        self.total.index_add_(0, where, confidence[correct].double().cpu())
        self.count.index_add_(0, where, torch.ones(len(where), dtype=torch.float64))


def update_thresholds(
    previous: Tensor, correct: CorrectConfidence, epoch: int, *, beta: float
) -> Tensor:
    """Eq. 4: T_c = beta / (1 + e^-t) times the mean confidence of D_c, the correct faces of c.

    A class that nobody got right keeps its threshold: there is nothing to learn from.
    """
    ramp = beta / (1 + math.exp(-epoch))
    mean = correct.total / correct.count.clamp(min=1)
    return torch.where(correct.count > 0, ramp * mean, previous)


@dataclass(frozen=True)
class PseudoLabels:
    labels: Tensor  # (n,) the class, where there is one
    probabilities: Tensor  # (n, k) the two views' interpolation
    kept: Tensor  # (n,) bool: above the threshold of at least one class

    def targets(self, kind: Literal["label", "probabilities"]) -> Tensor:
        """What to train on: the paper's label, one-hot, or the interpolation itself."""
        if kind == "probabilities":
            return self.probabilities
        return functional.one_hot(self.labels, self.probabilities.shape[1]).to(self.probabilities)


def pseudo_label(view_a: Tensor, view_b: Tensor, thresholds: Tensor) -> PseudoLabels:
    """Eq. 5 and 6: interpolate two views' probabilities, take the best class over its threshold."""
    probabilities = INTERPOLATION * view_a + (1 - INTERPOLATION) * view_b
    passed = probabilities > thresholds.to(probabilities)
    labels = (passed * probabilities).argmax(dim=1)
    return PseudoLabels(labels, probabilities, passed.any(dim=1))
