"""Rank-O-ToM (Kim et al.): blends of two faces, ranked below the faces that they are made of.

FER faces with labels, FR faces without
  -> two weak views of each FR face; a pseudo-label if a class passes its threshold   (Eq. 4 to 6)
  -> blends: the upper half of one face on the lower half of the other, mixed labels  (Eq. 2)
  -> focal loss on all of them, ranking loss on the confidences of blends and originals

    L      = focal + beta L_rank                                          beta = 1
    L_rank = max(0, max p_syn - max p_fer + delta)
           + max(0, max p_syn - max p_fr  + delta)    (Eq. 1)             delta = 0.2

The recipe says how much of this a run has: as the paper has it, or as the embedded model was
trained, with margins from the targets, few blends and cross-entropy.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn import functional

from train.augment import augment
from train.batches import Batch, TrainingFaces
from train.blend import blend_faces, blend_labels, smooth_blend
from train.methods.cross_entropy import cross_entropy
from train.methods.focal import focal
from train.methods.method import Method, StepResult, precision
from train.pseudo_labels import CorrectConfidence, pseudo_label, update_thresholds
from train.ranks import Ranks
from train.recipe import Recipe


class RankOToM(Method):
    def __init__(
        self, recipe: Recipe, faces: TrainingFaces, network: nn.Module, ranks: Ranks
    ) -> None:
        super().__init__(recipe, faces, network, ranks)
        self.thresholds = torch.full(
            (len(faces.classes),), recipe.threshold_start, dtype=torch.float64
        )
        self.correct = CorrectConfidence.empty(len(faces.classes))
        self.blends = 0  # in this epoch, of this rank

    def step(self, batch: Batch) -> StepResult:
        recipe, thresholds, size = self.recipe, self.thresholds, self.recipe.size_at(batch.epoch)
        count, blends = len(batch.fer), len(batch.fer_above)

        # The originals: FER faces, then the FR faces with a pseudo-label (Eq. 5 and 6).
        pixels, labels, targets = batch.fer, batch.labels, batch.targets
        faces = augment(batch.fer, batch.draws, size)
        first = torch.arange(blends, device=faces.device)
        # Without FR faces, neighbours of the shuffled batch blend with each other.
        second = first ^ 1
        chosen = torch.ones_like(first, dtype=torch.bool)
        if batch.fr is not None:
            view_a, view_b, trained = (augment(batch.fr, draws, size) for draws in batch.fr_draws)
            with torch.no_grad(), evaluation_mode(self.network), precision(recipe, faces.device):
                opinion_a, opinion_b = (
                    self.network(view).float().softmax(dim=1) for view in (view_a, view_b)
                )
            pseudo = pseudo_label(opinion_a, opinion_b, thresholds, top_only=recipe.pseudo_top_only)
            chosen = pseudo.kept
            pixels = torch.cat([pixels, batch.fr[chosen]])
            faces = torch.cat([faces, trained[chosen]])
            labels = torch.cat([labels, pseudo.labels[chosen]])
            targets = torch.cat([targets, pseudo.targets(recipe.pseudo_targets)[chosen]])
            second = count + chosen.cumsum(0) - 1
        kept = int(chosen.sum())
        if recipe.blends and recipe.ranking == "fixed":
            # The appendix blends "facial images with different labels".
            chosen = chosen & (labels[first] != labels[second])
        first, second, fer_above = first[chosen], second[chosen], batch.fer_above[chosen]

        # The blends (Eq. 2): cut from unaugmented pictures, then augmented as one face.
        originals = len(faces)
        if recipe.blends:
            upper, lower = (
                torch.where(fer_above, first, second),
                torch.where(fer_above, second, first),
            )
            blended = blend_faces(pixels[upper], pixels[lower])
            if recipe.ranking != "fixed":
                blended[::2] = smooth_blend(pixels[upper[::2]], pixels[lower[::2]])
            faces = torch.cat([faces, augment(blended, batch.blend_draws.part(chosen.cpu()), size)])
            targets = torch.cat([targets, blend_labels(targets[upper], targets[lower])])

        # One pass for all: with blends in a pass of their own accuracy collapsed (docs/results.md).
        (logits,) = self.run(batch, faces)
        labelled = originals if recipe.ranking == "logits" else len(faces)  # RankMixup: no blends
        tilted = logits[:labelled] + batch.tilt
        loss = self.ranks.mean(label_loss(recipe, tilted, targets[:labelled]))
        if recipe.blends and recipe.ranking_weight > 0:
            terms = ranking_terms(recipe, logits, targets, labels, first, second)
            loss = loss + recipe.ranking_weight * self.ranks.mean(terms)
        probabilities = logits[:count].softmax(dim=1)
        self.correct.add(probabilities, batch.labels)
        self.blends += len(faces) - originals
        offered = 0 if batch.fr is None else blends
        return StepResult(loss, probabilities, offered, kept)

    def end_epoch(self, epoch: int) -> str:
        """New thresholds, from the confidence of the correct FER faces (Eq. 4)."""
        correct = CorrectConfidence(*map(self.ranks.sum, (self.correct.total, self.correct.count)))
        self.thresholds = update_thresholds(
            self.thresholds, correct, epoch + 1, beta=self.recipe.threshold_beta
        )
        self.correct = CorrectConfidence.empty(len(self.thresholds))
        (blends,), self.blends = self.ranks.totals(self.blends), 0
        if self.recipe.blends and self.recipe.partners_at(epoch) and not blends:
            return (
                "Rank-O-ToM does nothing: no FR face passed its threshold, so there are no blends"
            )
        return ""

    def state(self) -> Mapping[str, Tensor]:
        return {"thresholds": self.thresholds}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.thresholds = state["thresholds"]


def ranking_terms(
    recipe: Recipe, logits: Tensor, targets: Tensor, labels: Tensor, first: Tensor, second: Tensor
) -> Tensor:
    """Eq. 1 or another reading of it: one value for each blend. Blends are the last logits."""
    originals, probabilities = len(logits) - len(first), logits.softmax(dim=1)
    confidence, peak = probabilities.max(dim=1).values, targets.max(dim=1).values
    blend, different = confidence[originals:], labels[first] != labels[second]
    if recipe.ranking == "fixed":
        return ranking(blend, confidence[first], confidence[second], margin=recipe.ranking_margin)

    def term(face: Tensor) -> Tensor:
        if recipe.ranking == "targets":
            return ranking_by_targets(blend, confidence[face], peak[originals:], peak[face])
        if recipe.ranking == "logits":
            return different * ranking_by_logit(logits[originals:], logits[face])
        own, of_face = labels[face], probabilities[face]
        return different * ranking_by_class(
            probabilities[originals:], of_face, own, margin=recipe.ranking_margin
        )

    return term(first) + term(second)


def label_loss(recipe: Recipe, logits: Tensor, targets: Tensor) -> Tensor:
    if recipe.loss == "cross-entropy":
        return cross_entropy(logits, targets)
    return focal(logits, targets, gamma=recipe.focal_gamma, alpha=recipe.focal_alpha)


@contextmanager
def evaluation_mode(network: nn.Module) -> Iterator[None]:
    """Running statistics and no dropout inside the block."""
    network.eval()
    try:
        yield
    finally:
        network.train()


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
