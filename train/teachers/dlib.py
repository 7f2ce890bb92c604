"""dlib's face recogniser (Davis King; face-api's copy) as a network for expressions.

Plain 3x3 convolutions and ReLU, which quantize well: 161 million multiply-adds at 112 pixels. It
was trained at 150; under 112 there is hardly a map left at its end. Where we differ from it:

- Grey faces from -1 to 1: colours and their means are folded into the first convolution.
- Even maps are padded at the bottom and right before a convolution of stride 2 (dlib has zeros
  there after it).
- The last block keeps its map: with dlib's stride of 2 one single cell would be left at 112
  pixels, and nothing to see where the evidence is.
- Shortcuts that grow end with a 1x1 convolution, which starts as dlib's zero-padded channels.
"""

from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from calib.errors import RankotomError
from train.teachers.recogniser import Recogniser, batch_norm, fold_in, tensor
from train.teachers.tfjs import read_weights

MANIFEST = "face_recognition_model-weights_manifest.json"
MEANS = (122.782, 117.001, 104.298)  # red, green, blue; the rest is divided by 255
# Name of each block, channels in and out, stride.
BLOCKS = (
    *((f"conv32_{number}", 32, 32, 1) for number in (1, 2, 3)),
    ("conv64_down", 32, 64, 2),
    *((f"conv64_{number}", 64, 64, 1) for number in (1, 2, 3)),
    ("conv128_down", 64, 128, 2),
    *((f"conv128_{number}", 128, 128, 1) for number in (1, 2)),
    ("conv256_down", 128, 256, 2),
    *((f"conv256_{number}", 256, 256, 1) for number in (1, 2)),
    ("conv256_down_out", 256, 256, 1),
)


def pad_even(x: Tensor) -> Tensor:
    """One more row and column where there is an even number of them, so that a 3x3 convolution of
    stride 2 gives half of them."""
    down, right = (1 - int(side) % 2 for side in x.shape[-2:])  # plain numbers, for the export
    return functional.pad(x, (0, right, 0, down)) if down or right else x


class Block(nn.Module):
    """Two 3x3 convolutions around a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=stride % 2, bias=False)
        self.bn1 = batch_norm(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = batch_norm(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride == 2:
            self.shortcut = nn.Sequential(
                nn.AvgPool2d(2), nn.Conv2d(inputs, outputs, 1, bias=False)
            )

    def forward(self, x: Tensor) -> Tensor:
        out = torch.relu(self.bn1(self.conv1(pad_even(x) if self.stride == 2 else x)))
        return torch.relu(self.bn2(self.conv2(out)) + self.shortcut(x))


class Dlib(Recogniser):
    def __init__(self, size: int, channels: int, classes: int, dropout: float) -> None:
        super().__init__(size, 256, classes, dropout)
        if size < 112 or channels != 1:
            raise RankotomError(
                f"dlib's network sees grey faces of 112 pixels or more, not {channels} channels "
                f"of {size} pixels."
            )
        self.conv1 = nn.Conv2d(1, 32, 7, stride=2, bias=False)
        self.bn1 = batch_norm(32)
        self.pool = nn.MaxPool2d(3, stride=2)
        self.blocks = nn.Sequential(
            *(Block(inputs, outputs, stride) for _, inputs, outputs, stride in BLOCKS)
        )

    def maps(self, x: Tensor) -> Tensor:
        maps: Tensor = self.blocks(self.pool(torch.relu(self.bn1(self.conv1(x)))))
        return maps

    def start_from(self, folder: Path) -> None:
        """The recogniser's own weights; the head stays as it is."""
        weights = read_weights(folder / MANIFEST)
        try:
            self._load(weights)
        except (KeyError, RuntimeError) as error:
            raise RankotomError(f"{folder / MANIFEST} is not of dlib's network: {error}") from error

    @torch.no_grad()
    def _load(self, weights: dict[str, NDArray[Any]]) -> None:
        filters, scale, bias = folded(weights, "conv32_down")
        # A grey level g = 127.5 (x + 1) is seen as (g - mean) / 255 in each colour.
        constant = tensor(weights["conv32_down/conv/filters"]).sum(dim=(0, 1)).T
        offset = constant @ torch.tensor([(127.5 - mean) / 255 for mean in MEANS])
        fold_in(
            self.conv1, self.bn1, filters.sum(1, keepdim=True) / 2, scale, bias + scale * offset
        )
        for (name, inputs, _, stride), block in zip(BLOCKS, self.blocks, strict=True):
            assert isinstance(block, Block)
            fold_in(block.conv1, block.bn1, *folded(weights, f"{name}/conv1"))
            fold_in(block.conv2, block.bn2, *folded(weights, f"{name}/conv2"))
            if stride == 2:
                assert isinstance(block.shortcut, nn.Sequential)
                wider = block.shortcut[1]
                assert isinstance(wider, nn.Conv2d)
                wider.weight.zero_()
                wider.weight[:inputs, :, 0, 0] = torch.eye(inputs)


def folded(weights: dict[str, NDArray[Any]], name: str) -> tuple[Tensor, Tensor, Tensor]:
    """Filters (out, in, height, width), and the scale and bias that follow them."""
    filters = tensor(weights[f"{name}/conv/filters"]).permute(3, 2, 0, 1)
    scale = tensor(weights[f"{name}/scale/weights"])
    bias = scale * tensor(weights[f"{name}/conv/bias"]) + tensor(weights[f"{name}/scale/biases"])
    return filters, scale, bias
