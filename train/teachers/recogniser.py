"""What the two face recognisers have in common: the head, and batch norms put back in.

Both come with their batch norms folded into a scale and a bias for each filter. Fine-tuning wants
real ones again, and filters of one size, so that Adam's steps are as large for each.
"""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

CROP = 48  # the crop contract's side; faces of this size are enlarged inside the network


class Recogniser(nn.Module):
    """Enlarge, convolutions, global average pool, dropout, one linear layer."""

    def __init__(self, size: int, width: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.size = size
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(width, classes)

    def maps(self, x: Tensor) -> Tensor:
        """The last stage's maps of faces that are large enough already."""
        raise NotImplementedError

    def features(self, x: Tensor) -> Tensor:
        """The last stage's maps, (n, channels, height, width), of faces about 0, from -1 to 1.

        Training draws its augmented faces at the full size itself: shifting 48 pixels and then
        enlarging them would blur twice, which the camera's faces are not.
        """
        if x.shape[-1] == CROP:
            x = functional.interpolate(x, size=(self.size, self.size), mode="bilinear")
        return self.maps(x)

    def classify(self, features: Tensor) -> Tensor:
        logits: Tensor = self.fc(self.dropout(features.mean(dim=(2, 3))))
        return logits

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.features(x))

    def evidence(self, features: Tensor) -> Tensor:
        """Class activation maps (Zhou et al. 2016), as of ``train.networks.ResNet``."""
        return torch.einsum("nchw,kc->nkhw", features, self.fc.weight)


def batch_norm(width: int) -> nn.BatchNorm2d:
    """With statistics of the last hundred batches instead of ten: the averaged weights take them
    over as they are, and at torch's momentum their temperature swings from epoch to epoch by a
    quarter (metrics.csv of teacher-dlib)."""
    return nn.BatchNorm2d(width, momentum=0.01)


@torch.no_grad()
def fold_in(
    convolution: nn.Conv2d, norm: nn.BatchNorm2d, filters: Tensor, scale: Tensor, bias: Tensor
) -> None:
    """``scale * conv(x) + bias``, with filters of He's deviation: the norm takes up the rest."""
    fan_in = filters[0].numel()
    size = filters.pow(2).mean(dim=(1, 2, 3)).sqrt().clamp_min(1e-12)
    larger = math.sqrt(2 / fan_in) / size
    convolution.weight.copy_(filters * larger[:, None, None, None])
    assert norm.running_mean is not None
    assert norm.running_var is not None
    norm.running_mean.zero_()
    norm.running_var.fill_(1 - norm.eps)
    norm.weight.copy_(scale / larger)
    norm.bias.copy_(bias)


@torch.no_grad()
def measure_norms(network: nn.Module, batches: list[Tensor]) -> None:
    """Real batch norms again: each one's mean and variance over these faces, its scale and bias
    such that the network stays the same function.

    One pass does for all of them, as none changes what the next one sees.
    """
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    seen: dict[nn.Module, list[Tensor]] = {norm: [] for norm in norms}

    def note(norm: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        values = inputs[0].double()
        seen[norm].append(torch.stack([values.mean((0, 2, 3)), values.pow(2).mean((0, 2, 3))]))

    hooks = [norm.register_forward_pre_hook(note) for norm in norms]
    network.eval()
    for batch in batches:
        network(batch)
    for hook in hooks:
        hook.remove()
    for norm in norms:
        mean, square = torch.stack(seen[norm]).mean(dim=0)
        variance = (square - mean**2).clamp_min(0)
        assert norm.running_mean is not None
        assert norm.running_var is not None
        slope = norm.weight / (norm.running_var + norm.eps).sqrt()
        norm.bias.add_(slope * (mean - norm.running_mean))
        norm.weight.copy_(slope * (variance + norm.eps).sqrt())
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(variance)


def tensor(array: NDArray[np.generic]) -> Tensor:
    return torch.from_numpy(np.array(array, dtype=np.float32))
