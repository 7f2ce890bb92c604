"""Margin-based Label Smoothing (Liu et al., CVPR 2022): no logit far below the largest.

L = cross-entropy + 0.1 mean over classes k of max(0, max z - z_k - m)        m = 10
"""

from torch import Tensor
from torch.nn import functional

from train.batches import Batch
from train.methods.cross_entropy import cross_entropy
from train.methods.method import Method, StepResult


class Mbls(Method):
    def step(self, batch: Batch) -> StepResult:
        settings = self.recipe.mbls
        (logits,) = self.run(batch, self.augmented(batch))
        labels = self.ranks.mean(cross_entropy(logits + batch.tilt, batch.targets))
        limit = settings.weight * self.ranks.mean(beyond_margin(logits, settings.margin))
        self.means.add(limit, labels)
        return StepResult(labels + limit, logits.softmax(dim=1))

    def end_epoch(self, epoch: int) -> str:
        limit, labels = self.means.take(self.ranks)
        words = f"margin {limit / labels:.3f} of the label loss"
        return words if limit > 0 else f"{words}; MbLS does nothing: no logit is beyond its margin"


def beyond_margin(logits: Tensor, margin: float) -> Tensor:
    """The mean over classes of max(0, max z - z_k - m), one value for each face."""
    below = logits.max(dim=1, keepdim=True).values - logits
    return functional.relu(below - margin).mean(dim=1)
