"""Pseudo-labels for FR faces, by class thresholds that follow the model's confidence."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

# lambda_c of Eq. 5: both views count equally, for every class.
INTERPOLATION = 0.5


@dataclass
class CorrectConfidence:
    """Sum and count of the confidence of an epoch's correctly predicted FER faces, by class."""

    total: Tensor
    count: Tensor

    @classmethod
    def empty(cls, classes: int) -> "CorrectConfidence":
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
    previous: Tensor, correct: CorrectConfidence, t: int, *, beta: float
) -> Tensor:
    """Eq. 4: T_c = beta / (1 + e^-t) times the mean confidence of D_c, the correct faces of c.

    Epochs t count from 1, as in Ada-CM (Li et al. 2022), from which the rule comes. A class without
    correct faces keeps its threshold.
    """
    ramp = beta / (1 + math.exp(-t))
    mean = correct.total / correct.count.clamp(min=1)
    return torch.where(correct.count > 0, ramp * mean, previous)


@dataclass(frozen=True)
class PseudoLabels:
    labels: Tensor  # (n,) the class; only valid if kept
    probabilities: Tensor  # (n, k) the interpolation of the two views
    kept: Tensor  # (n,) bool: at least one class is above its threshold

    def targets(self, kind: Literal["label", "probabilities"]) -> Tensor:
        """Training targets: the paper's one-hot label, or the interpolated probabilities."""
        if kind == "probabilities":
            return self.probabilities
        return functional.one_hot(self.labels, self.probabilities.shape[1]).to(self.probabilities)


def pseudo_label(
    view_a: Tensor, view_b: Tensor, thresholds: Tensor, *, top_only: bool = False
) -> PseudoLabels:
    """Eq. 5 and 6: interpolate two views, take the best of the classes above their threshold.

    As written, a lesser class may win when the top class fails its threshold. With ``top_only``, as
    in Ada-CM, only the top class may pass.
    """
    probabilities = INTERPOLATION * view_a + (1 - INTERPOLATION) * view_b
    passed = probabilities > thresholds.to(probabilities)
    if top_only:
        passed &= probabilities == probabilities.amax(dim=1, keepdim=True)
    labels = (passed * probabilities).argmax(dim=1)
    return PseudoLabels(labels, probabilities, passed.any(dim=1))
