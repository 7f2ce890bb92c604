"""The losses: focal loss on labels, ranking loss on confidences, and other readings of the latter.

Each returns one value for each face or pair and not a mean: the loop takes the mean, because
several processes share one batch.
"""

from torch import Tensor
from torch.nn import functional


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """-sum_c y_c log p_c, for target distributions (n, k)."""
    return -(targets * functional.log_softmax(logits, dim=1)).sum(dim=1)


def focal(logits: Tensor, targets: Tensor, *, gamma: float, alpha: float) -> Tensor:
    """-alpha sum_c y_c (1 - p_c)^gamma log p_c (Lin et al. 2017), for targets (n, k).

    With a one-hot target this is the published loss; in a mixed label each class is weighted by
    its own difficulty.
    """
    log_p = functional.log_softmax(logits, dim=1)
    return -alpha * (targets * (1 - log_p.exp()) ** gamma * log_p).sum(dim=1)


def ranking(blend: Tensor, upper: Tensor, lower: Tensor, *, margin: float) -> Tensor:
    """Eq. 1: a blend's confidence should lie below that of both its faces, by the margin.

    max(0, max_c p_blend - max_c p_upper + delta) + max(0, max_c p_blend - max_c p_lower + delta)

    The arguments are confidences, max_c p, (n,).
    """
    return functional.relu(blend - upper + margin) + functional.relu(blend - lower + margin)


# A smaller gap between the targets' peaks is not ranked; chosen by eye.
LEAST_GAP = 0.05


def ranking_by_targets(
    blend: Tensor, face: Tensor, blend_peak: Tensor, face_peak: Tensor
) -> Tensor:
    """Eq. 1 with the margin that the targets themselves have: half the gap between their peaks.

    max(0, max_c p_blend - stopgrad(max_c p_face) + gap / 2) where gap > 0.05, else 0; with
    gap = max_c y_face - max_c y_blend.

    It is 0 where both confidences equal their targets' peaks. Pairs with the same label and faces
    with split votes have little or no gap, and drop out. The face's own confidence is not trained:
    its largest class may be wrong.
    """
    gap = face_peak - blend_peak
    return functional.relu(blend - face.detach() + 0.5 * gap) * (gap > LEAST_GAP)


def ranking_by_class(blend: Tensor, face: Tensor, label: Tensor, *, margin: float) -> Tensor:
    """Eq. 1 as the sentence below it reads: the face's own class loses probability in the blend.

    max(0, p_blend[y] - p_face[y] + delta); ``blend`` and ``face`` are probabilities (n, k).
    """
    own = label[:, None]
    return functional.relu((blend.gather(1, own) - face.gather(1, own)).squeeze(1) + margin)


def ranking_by_logit(blend: Tensor, face: Tensor) -> Tensor:
    """RankMixup's margin ranking loss (Noh et al. 2023): max(0, max_c z_blend - max_c z_face + 1).

    The arguments are logits (n, k). Its blends have no label loss.
    """
    return functional.relu(blend.max(dim=1).values - face.max(dim=1).values + 1)
