"""Focal loss (Lin et al. 2017): a face that is already right counts less.

L = -alpha sum_c y_c (1 - p_c)^gamma log p_c        alpha = 0.25, gamma = 2
"""

from torch import Tensor
from torch.nn import functional

from train.methods.cross_entropy import CrossEntropy


def focal(logits: Tensor, targets: Tensor, *, gamma: float, alpha: float) -> Tensor:
    """One value for each face, for targets (n, k).

    With a one-hot target this is the published loss; in a mixed label each class is weighted by
    its own difficulty.
    """
    log_p = functional.log_softmax(logits, dim=1)
    return -alpha * (targets * (1 - log_p.exp()) ** gamma * log_p).sum(dim=1)


class Focal(CrossEntropy):
    def loss(self, logits: Tensor, targets: Tensor) -> Tensor:
        gamma, alpha = self.recipe.focal_gamma, self.recipe.focal_alpha
        return focal(logits, targets, gamma=gamma, alpha=alpha)
