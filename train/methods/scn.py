"""Self-Cure Network (Wang et al., CVPR 2020): weigh each face, keep the weights apart, relabel.

With pooled features f of a face and one more layer a (train/networks.py, ImportanceLinear):

    alpha = sigmoid(a . f + a0)                               the face's importance
    z     = alpha (W f + b)                                   its logits, also at test
    L_wce = mean of -log softmax(z)[y]
    L_rr  = max(0, delta_1 - (mean alpha_high - mean alpha_low))
    L     = L_wce + L_rr                                      (paper: half of both)

where the high group is the floor(beta n) faces of the batch with the largest alpha. From an epoch
on, a face of the low group gets a new label, for the next time it is drawn:

    y <- argmax p    if max p - p[y] > delta_2,    p = softmax(z) of this pass
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

from calib.errors import RankotomError
from train.batches import Batch, TrainingFaces
from train.methods.cross_entropy import cross_entropy
from train.methods.method import Method, StepResult
from train.networks import ImportanceLinear, Network, as_network
from train.ranks import Ranks
from train.recipe import Recipe

SATURATED = 0.95  # mean importance of the low group from which the weights do nothing


class ImportancePass(nn.Module):
    """Logits and importance of faces, in one pass."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, faces: Tensor) -> tuple[Tensor, Tensor]:
        pooled = self.network.dropout(self.network.features(faces).mean(dim=(2, 3)))
        head = self.network.fc
        assert isinstance(head, ImportanceLinear)
        return head(pooled), head.importance_of(pooled).squeeze(1)


class Scn(Method):
    def __init__(
        self, recipe: Recipe, faces: TrainingFaces, network: nn.Module, ranks: Ranks
    ) -> None:
        super().__init__(recipe, faces, network, ranks)
        if recipe.targets != "majority" or recipe.distil or recipe.oversample:
            raise RankotomError(
                f"{recipe.name}: SCN changes labels, so it goes with majority labels, without "
                "teachers and without oversampling."
            )
        self.classes = faces.classes
        self.given = torch.from_numpy(faces.labels.copy())
        self.labels = self.given.clone()  # the current ones
        self.next_labels = self.given.clone()  # after this epoch, of the faces of this rank

    def passes(self, network: nn.Module) -> nn.Module:
        return ImportancePass(as_network(network))

    def step(self, batch: Batch) -> StepResult:
        settings = self.recipe.scn
        logits, importance = self.run(batch, self.augmented(batch))
        labels = self.labels[batch.where].to(logits.device)
        targets = functional.one_hot(labels, logits.shape[1]).to(logits)
        everyone = self.ranks.gather(importance, batch.places, self.recipe.batch)
        high = high_group(everyone, settings.high_share)
        apart = rank_regularisation(everyone, high, settings.margin)
        loss = self.ranks.mean(cross_entropy(logits, targets)) + apart

        if batch.epoch >= settings.relabel_from * self.recipe.epochs:
            changed = relabelled(logits.detach(), labels, settings.relabel_margin)
            if settings.relabel == "low":
                changed = torch.where(high[batch.places], labels, changed)
            self.next_labels[batch.where] = changed.cpu()
        self.means.add(everyone[high].mean(), everyone[~high].mean(), apart)
        return StepResult(loss, logits.softmax(dim=1))

    def end_epoch(self, epoch: int) -> str:
        self.labels = self.labels + self.ranks.sum(self.next_labels - self.labels)
        self.next_labels = self.labels.clone()
        high, low, apart = self.means.take(self.ranks)
        words = f"importance {high:.2f} and {low:.2f}, rank loss {apart:.3f}"
        different = self.labels != self.given
        if different.any():
            counts = self.labels[different].bincount(minlength=len(self.classes)).tolist()
            names = ", ".join(
                f"{name} {count}"
                for count, name in sorted(zip(counts, self.classes, strict=True), reverse=True)
                if count
            )
            words += f", {int(different.sum()):,} labels changed (now {names})"
        if low > SATURATED:
            words += "; SCN does nothing: its importances are saturated"
        return words

    def state(self) -> Mapping[str, Tensor]:
        return {"labels": self.labels}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.labels = state["labels"].clone()
        self.next_labels = self.labels.clone()


def high_group(importance: Tensor, share: float) -> Tensor:
    """Which faces of the batch are the floor(share n) of the largest importance, bool (n,)."""
    high = torch.zeros_like(importance, dtype=torch.bool)
    high[importance.topk(int(share * len(importance))).indices] = True
    return high


def rank_regularisation(importance: Tensor, high: Tensor, margin: float) -> Tensor:
    """max(0, delta_1 - (mean alpha_high - mean alpha_low))."""
    return functional.relu(margin - (importance[high].mean() - importance[~high].mean()))


def relabelled(logits: Tensor, labels: Tensor, margin: float) -> Tensor:
    """The likeliest class where it is more than the margin likelier than the label."""
    probabilities = logits.softmax(dim=1)
    likeliest, predicted = probabilities.max(dim=1)
    own = probabilities.gather(1, labels[:, None]).squeeze(1)
    return torch.where(likeliest - own > margin, predicted, labels)
