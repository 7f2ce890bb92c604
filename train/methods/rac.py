"""Re-balanced attention consistency and smooth labels (Zhang et al., NeurIPS 2023).

EAC's maps (attention.py), with rare classes counting more, and labels that favour rare classes:

    w_k  =  N / (10 N_k)                                 N_k faces of class k
    y_s  =  1 - epsilon for the label; of the other classes, class k has epsilon w_k / sum of w
            over the classes that are not the label
    L    =  -sum_c y_s[c] log p(x)[c] + lambda sum_k w_k D[k]        epsilon = 0.3, lambda = 0.1

Unless the settings say "as written", the w are scaled to RAF-DB's sum, 10.1 (settings.py says why).
EAC has the mean over classes, this the sum. Its confidences are low by construction: the largest
target is 0.7.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from calib.errors import RankotomError
from train.batches import Batch, TrainingFaces
from train.methods.attention import AttentionConsistency
from train.ranks import Ranks
from train.recipe import Recipe

RAFDB_SUM = 10.132  # of the w of RAF-DB train, which the authors wrote into their code


class Rac(AttentionConsistency):
    name = "RAC"

    def __init__(
        self, recipe: Recipe, faces: TrainingFaces, network: nn.Module, ranks: Ranks
    ) -> None:
        super().__init__(recipe, faces, network, ranks)
        if recipe.targets != "majority" or recipe.distil:
            raise RankotomError(
                f"{recipe.name}: RAC smooths labels, so it goes with majority labels, without "
                "votes and teachers."
            )
        self.settings = recipe.rac
        self.weights = class_weights(
            faces.labels, len(faces.classes), recipe.rac.class_weights == "normalised"
        ).to(ranks.device)
        self.smooth = smooth_labels(self.weights, recipe.rac.smoothing)

    def targets(self, batch: Batch) -> Tensor:
        return self.smooth[batch.labels]

    def over_classes(self, gaps: Tensor) -> Tensor:
        return gaps @ self.weights


def class_weights(labels: NDArray[np.int64], classes: int, normalised: bool) -> Tensor:
    """N / (10 N_k), 0 for a class without faces; ``normalised`` scales them to RAF-DB's sum."""
    counts = torch.from_numpy(np.bincount(labels, minlength=classes)).double()
    weights = len(labels) / (10 * counts.clamp(min=1)) * (counts > 0)
    if normalised:
        weights = weights * (RAFDB_SUM / weights.sum())
    return weights.float()


def smooth_labels(weights: Tensor, smoothing: float) -> Tensor:
    """Row y is the target of label y, (k, k)."""
    others = weights.expand(len(weights), -1) * (1 - torch.eye(len(weights), device=weights.device))
    shares = smoothing * others / others.sum(dim=1, keepdim=True)
    return shares + (1 - smoothing) * torch.eye(len(weights), device=weights.device)
