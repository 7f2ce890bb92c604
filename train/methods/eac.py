"""Erasing Attention Consistency (Zhang et al., ECCV 2022).

A face x and its mirror image x', both with holes, and their class activation maps (attention.py):

    L = -log p(x)[y] + lambda mean_k D[k]        lambda = 5
"""

from torch import Tensor, nn

from train.batches import TrainingFaces
from train.methods.attention import AttentionConsistency
from train.ranks import Ranks
from train.recipe import Recipe


class Eac(AttentionConsistency):
    name = "EAC"

    def __init__(
        self, recipe: Recipe, faces: TrainingFaces, network: nn.Module, ranks: Ranks
    ) -> None:
        super().__init__(recipe, faces, network, ranks)
        self.settings = recipe.eac

    def over_classes(self, gaps: Tensor) -> Tensor:
        return gaps.mean(dim=1)
