"""What EAC and RAC share: the class activation maps of a face and its mirror image should agree.

    M[k, h, w] = sum_c stopgrad(W[k, c]) F[c, h, w]                the map of class k
    D[k]       = mean over h, w of (M(x) - mirror(M(x')))^2        x' is x's mirror image

The weights of the last layer are held fixed here: agreement teaches the features, not the
classifier. Only x has a label loss, and each face passes through the network twice.
"""

import torch
from torch import Generator, Tensor, nn

from train.augment import erasure
from train.batches import Batch, TrainingFaces, derived_seed
from train.methods.cross_entropy import cross_entropy
from train.methods.method import Method, StepResult
from train.methods.settings import AttentionSettings
from train.networks import Network, as_network
from train.ranks import Ranks
from train.recipe import Recipe

# The share of the label loss below which agreement has nothing left to do; chosen by eye. That it
# never did anything does not follow: at weights that cross-entropy trained, EAC's term is ten times
# the label loss (train/experiments/loss_balance.py).
NOTHING = 0.01


class MapsOfTwoViews(nn.Module):
    """The logits of a view, and the maps of it and of a second view."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, view: Tensor, other: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        features, of_other = self.network.features(view), self.network.features(other)
        logits = self.network.classify(features)
        return logits, self.maps(features), self.maps(of_other)

    def maps(self, features: Tensor) -> Tensor:
        with torch.autocast(features.device.type, enabled=False):
            return torch.einsum("nchw,kc->nkhw", features.float(), self.network.fc.weight.detach())


class AttentionConsistency(Method):
    """Label loss plus agreement of the maps; EAC and RAC say how the classes count."""

    name: str
    settings: AttentionSettings

    def __init__(
        self, recipe: Recipe, faces: TrainingFaces, network: nn.Module, ranks: Ranks
    ) -> None:
        super().__init__(recipe, faces, network, ranks)

    def passes(self, network: nn.Module) -> nn.Module:
        return MapsOfTwoViews(as_network(network))

    def targets(self, batch: Batch) -> Tensor:
        return batch.targets

    def over_classes(self, gaps: Tensor) -> Tensor:
        """One value a face from the classes' D, (n, k)."""
        raise NotImplementedError

    def step(self, batch: Batch) -> StepResult:
        view, other = two_views(batch, self.augmented(batch), self.settings, self.recipe.batch)
        logits, maps, of_other = self.run(batch, view, other)
        labels = self.ranks.mean(cross_entropy(logits + batch.tilt, self.targets(batch)))
        gaps = self.over_classes(map_gaps(maps, of_other))
        agreement = self.settings.weight * self.ranks.mean(gaps)
        self.means.add(agreement, labels)
        warm = min(1.0, batch.progress / self.settings.warm_up) if self.settings.warm_up else 1.0
        return StepResult(labels + warm * agreement, logits.softmax(dim=1))

    def end_epoch(self, epoch: int) -> str:
        agreement, labels = self.means.take(self.ranks)
        words = f"consistency {agreement / labels:.3f} of the label loss"
        warm = epoch >= self.settings.warm_up * self.recipe.epochs
        if warm and agreement < NOTHING * labels:
            words += f"; {self.name} has nothing left to do: its maps agree"
        return words


def map_gaps(maps: Tensor, of_mirror: Tensor) -> Tensor:
    """D of each face and class, (n, k): mean over h, w of (M(x) - mirror(M(x')))^2."""
    return (maps - of_mirror.flip(3)).square().mean(dim=(2, 3))


def two_views(
    batch: Batch, faces: Tensor, settings: AttentionSettings, global_batch: int
) -> tuple[Tensor, Tensor]:
    """The faces with random holes, and their mirror images with the same or with other holes."""

    def hole(view: str) -> Tensor:
        generator = Generator().manual_seed(derived_seed(batch.seed, "hole", view))
        drawn = draw_holes(global_batch, settings, generator)[batch.places.cpu()]
        return ~erasure(drawn.to(faces.device), faces.shape[-1])

    view = faces * hole("face")
    if settings.erase == "together":
        return view, view.flip(3)
    return view, faces.flip(3) * hole("mirror image")


def draw_holes(count: int, settings: AttentionSettings, generator: Generator) -> Tensor:
    """Centre and side of a square inside each picture, (n, 3); side 0 where there is none."""
    low, high = settings.erase_area
    draws = torch.rand(count, 4, generator=generator)
    side = (low + (high - low) * draws[:, 2:3]).sqrt() * (draws[:, 3:] < settings.erase_chance)
    centre = side / 2 + draws[:, :2] * (1 - side)
    return torch.cat([centre, side], dim=1)
