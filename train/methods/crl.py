"""Correctness Ranking Loss (Moon et al., ICML 2020), with vote shares in place of histories.

Each face and its neighbour in the shuffled batch, with confidence kappa = max p:

    L = cross-entropy + mean of max(0, -sign(c_i - c_j) (kappa_i - kappa_j) + |c_i - c_j|)

The authors' c is the share of the epochs so far in which the face was classified right, which takes
many epochs. Here c is the largest share of the annotators' votes: the order is people's own. A pair
with c_i = c_j has no order, and counts as 0.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from calib.errors import RankotomError
from train.batches import Batch, TrainingFaces
from train.methods.cross_entropy import cross_entropy
from train.methods.method import Method, StepResult
from train.ranks import Ranks
from train.recipe import Recipe


class Crl(Method):
    def __init__(
        self, recipe: Recipe, faces: TrainingFaces, network: nn.Module, ranks: Ranks
    ) -> None:
        super().__init__(recipe, faces, network, ranks)
        if faces.vote_peaks is None:
            raise RankotomError(
                f"{recipe.name}: CRL ranks faces by annotators' votes; this data set has none."
            )
        self.clarity = torch.from_numpy(faces.vote_peaks).float()

    def step(self, batch: Batch) -> StepResult:
        (logits,) = self.run(batch, self.augmented(batch))
        probabilities = logits.softmax(dim=1)
        labels = self.ranks.mean(cross_entropy(logits + batch.tilt, batch.targets))
        confidence, clarity = (
            self.ranks.gather(each, batch.places, self.recipe.batch)
            for each in (
                probabilities.max(dim=1).values,
                self.clarity[batch.where].to(logits.device),
            )
        )
        order = self.recipe.crl.weight * correctness_ranking(confidence, clarity).mean()
        self.means.add(order, labels)
        return StepResult(labels + order, probabilities)

    def end_epoch(self, epoch: int) -> str:
        order, labels = self.means.take(self.ranks)
        words = f"order {order / labels:.3f} of the label loss"
        return words if order > 0 else f"{words}; CRL does nothing: no pair is out of order"


def correctness_ranking(confidence: Tensor, clarity: Tensor) -> Tensor:
    """The loss of each face and its neighbour, the last one's being the first, (n,)."""
    gap = clarity - clarity.roll(-1)
    ahead = gap.sign() * (confidence - confidence.roll(-1))
    return functional.relu(gap.abs() - ahead)
