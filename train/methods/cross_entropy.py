"""Cross-entropy on the faces and their labels, and nothing else.

L = -sum_c y_c log p_c
"""

from torch import Tensor
from torch.nn import functional

from train.batches import Batch
from train.methods.method import Method, StepResult


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """-sum_c y_c log p_c, one value for each face; ``targets`` are distributions (n, k)."""
    return -(targets * functional.log_softmax(logits, dim=1)).sum(dim=1)


class CrossEntropy(Method):
    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        return cross_entropy(logits, targets)

    def step(self, batch: Batch) -> StepResult:
        (logits,) = self.run(batch, self.augmented(batch))
        loss = self.ranks.mean(self.loss(logits + batch.tilt, batch.targets))
        return StepResult(loss, logits.softmax(dim=1))
