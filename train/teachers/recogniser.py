"""What the two face recognisers share: the last layer, and batch norms for fine-tuning.

In their published weights each batch norm is reduced to a scale and a bias per filter. Fine-tuning
needs real batch norms, and filters of equal magnitude, because Adam's steps do not depend on it.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from calib.errors import RankotomError
from train.teachers.tfjs import read_weights

CROP = 48  # pixels, the crop contract's size; the network enlarges such faces itself


class Recogniser(nn.Module):
    """Enlarge, convolutions, global average pool, dropout, one linear layer."""

    manifest: str  # file name of the published weights

    def __init__(self, size: int, width: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.size = size
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(width, classes)
        # Bilinear enlargement of rows, (size, CROP): two products are faster than ONNX's Resize.
        rows = functional.interpolate(torch.eye(CROP)[None, None], (size, CROP), mode="bilinear")
        self.register_buffer("enlarge", rows[0, 0], persistent=False)

    def maps(self, x: Tensor) -> Tensor:
        """The last stage's maps of faces at the network's full size."""
        raise NotImplementedError

    def copy_weights(self, weights: dict[str, NDArray[Any]]) -> None:
        raise NotImplementedError

    def load_published_weights(self, folder: Path) -> None:
        """All but the last layer, from the folder of the TensorFlow.js files."""
        path = folder / self.manifest
        weights = read_weights(path)
        try:
            self.copy_weights(weights)
        except (KeyError, RuntimeError) as error:
            raise RankotomError(
                f"{path} does not hold the weights of {type(self).__name__}: {error}"
            ) from error

    def features(self, x: Tensor) -> Tensor:
        """The last stage's maps, (n, channels, height, width), of faces with values from -1 to 1.

        Training augments faces at the full size: augmenting at 48 pixels and then enlarging would
        blur them twice.
        """
        if x.shape[-1] == CROP:
            enlarge = self.get_buffer("enlarge")
            x = enlarge @ x @ enlarge.T
        return self.maps(x)

    def classify(self, features: Tensor) -> Tensor:
        logits: Tensor = self.fc(self.dropout(features.mean(dim=(2, 3))))
        return logits

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.features(x))

    def evidence(self, features: Tensor) -> Tensor:
        """Class activation maps (Zhou et al. 2016), as in ``train.networks.ResNet``."""
        return torch.einsum("nchw,kc->nkhw", features, self.fc.weight)


def batch_norm(width: int) -> nn.BatchNorm2d:
    """With statistics over about 100 batches instead of torch's 10: the averaged weights copy them,
    and with 10 the fitted temperature changes by up to a quarter from epoch to epoch (metrics.csv
    of a teacher-dlib run)."""
    return nn.BatchNorm2d(width, momentum=0.01)


@torch.no_grad()
def set_convolution(
    convolution: nn.Conv2d, norm: nn.BatchNorm2d, filters: Tensor, scale: Tensor, bias: Tensor
) -> None:
    """Make ``norm(convolution(x))`` equal ``scale * filters(x) + bias``.

    The filters get the deviation of He's initialisation, and the norm's weight makes up for it.
    """
    deviation = filters.pow(2).mean(dim=(1, 2, 3)).sqrt().clamp_min(1e-12)
    factor = math.sqrt(2 / filters[0].numel()) / deviation
    convolution.weight.copy_(filters * factor[:, None, None, None])
    assert norm.running_mean is not None
    assert norm.running_var is not None
    norm.running_mean.zero_()
    norm.running_var.fill_(1 - norm.eps)
    norm.weight.copy_(scale / factor)
    norm.bias.copy_(bias)


@torch.no_grad()
def measure_batch_norms(network: nn.Module, batches: list[Tensor]) -> None:
    """Set each batch norm's statistics to those of these faces, and its weight and bias so that the
    network computes the same as before.

    One pass is enough, because no norm changes the inputs of the next one.
    """
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    moments: dict[nn.Module, list[Tensor]] = {norm: [] for norm in norms}

    def measure(norm: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        values = inputs[0].double()
        moments[norm].append(torch.stack([values.mean((0, 2, 3)), values.pow(2).mean((0, 2, 3))]))

    hooks = [norm.register_forward_pre_hook(measure) for norm in norms]
    network.eval()
    for batch in batches:
        network(batch)
    for hook in hooks:
        hook.remove()
    for norm in norms:
        mean, square = torch.stack(moments[norm]).mean(dim=0)
        variance = (square - mean**2).clamp_min(0)
        assert norm.running_mean is not None
        assert norm.running_var is not None
        slope = norm.weight / (norm.running_var + norm.eps).sqrt()
        norm.bias.add_(slope * (mean - norm.running_mean))
        norm.weight.copy_(slope * (variance + norm.eps).sqrt())
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(variance)


def as_tensor(array: NDArray[np.generic]) -> Tensor:
    return torch.from_numpy(np.array(array, dtype=np.float32))
