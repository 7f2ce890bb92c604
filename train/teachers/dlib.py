"""dlib's face recogniser (Davis King; weights as in face-api) as a network for expressions.

3x3 convolutions and ReLU, which quantize well: 161 million multiply-adds at 112 pixels. It was
trained at 150 pixels; below 104 its last maps are too small. Differences from dlib:

- Faces are grey, from -1 to 1: the first convolution includes the colours and their means.
- Maps of even size are padded at the bottom and right before a convolution of stride 2; dlib pads
  its output with zeros instead.
- The last block has stride 1: with dlib's 2, a face of 112 pixels would end as a single cell, and
  the evidence map could not show where the evidence is.
- A shortcut to more channels has a 1x1 convolution, which starts as dlib's zero-padded channels.
"""

from collections.abc import Collection
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from calib.errors import RankotomError
from train.teachers.recogniser import Recogniser, as_tensor, batch_norm, set_convolution

MEANS = (122.782, 117.001, 104.298)  # of red, green and blue; the difference is divided by 255
SMALLEST = 104  # pixels: the last maps are then 3 x 3
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
# Left out of the edge network, so that two views in INT8 take no longer than with the embedded
# model before (docs/results.md). Chosen by eye: a face of 48 pixels has little detail for the
# first, and maps of 3 x 3 have little use for the others.
LEFT_OUT_AT_THE_EDGE = ("conv32_3", "conv256_2", "conv256_down_out")


def pad_even(x: Tensor) -> Tensor:
    """Pad even sizes by one row or column, so that a 3x3 convolution of stride 2 halves them."""
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

    @torch.no_grad()
    def merge_shortcut(self) -> None:
        """The average pool and the convolution after it as one 2x2 convolution of stride 2: in INT8
        the pool alone takes longer than that."""
        if isinstance(self.shortcut, nn.Sequential):
            widening = self.shortcut[1]
            assert isinstance(widening, nn.Conv2d)
            merged = nn.Conv2d(widening.in_channels, widening.out_channels, 2, 2, bias=False)
            merged.weight.copy_(widening.weight.expand_as(merged.weight) / 4)
            self.shortcut = merged


class Dlib(Recogniser):
    manifest = "face_recognition_model-weights_manifest.json"

    def __init__(
        self,
        size: int,
        channels: int,
        classes: int,
        dropout: float,
        without: Collection[str] = (),  # blocks to leave out
    ) -> None:
        super().__init__(size, 256, classes, dropout)
        if size < SMALLEST or channels != 1:
            raise RankotomError(
                f"dlib's network takes grey faces of {SMALLEST} pixels or more, not {channels} "
                f"channels of {size} pixels."
            )
        self.conv1 = nn.Conv2d(1, 32, 7, stride=2, bias=False)
        self.bn1 = batch_norm(32)
        self.pool = nn.MaxPool2d(3, stride=2)
        self.blocks = nn.Sequential(
            *(
                nn.Identity() if name in without else Block(inputs, outputs, stride)
                for name, inputs, outputs, stride in BLOCKS
            )
        )

    def merge_for_export(self) -> None:
        for block in self.blocks:
            if isinstance(block, Block):
                block.merge_shortcut()

    def maps(self, x: Tensor) -> Tensor:
        maps: Tensor = self.blocks(self.pool(torch.relu(self.bn1(self.conv1(x)))))
        return maps

    @torch.no_grad()
    def copy_weights(self, weights: dict[str, NDArray[Any]]) -> None:
        filters, scale, bias = read_convolution(weights, "conv32_down")
        # A grey level g = 127.5 (x + 1) was (g - mean) / 255 in each colour.
        constant = as_tensor(weights["conv32_down/conv/filters"]).sum(dim=(0, 1)).T
        offset = constant @ torch.tensor([(127.5 - mean) / 255 for mean in MEANS])
        set_convolution(
            self.conv1, self.bn1, filters.sum(1, keepdim=True) / 2, scale, bias + scale * offset
        )
        for (name, inputs, _, stride), block in zip(BLOCKS, self.blocks, strict=True):
            if not isinstance(block, Block):
                continue
            set_convolution(block.conv1, block.bn1, *read_convolution(weights, f"{name}/conv1"))
            set_convolution(block.conv2, block.bn2, *read_convolution(weights, f"{name}/conv2"))
            if stride == 2:
                assert isinstance(block.shortcut, nn.Sequential)
                widening = block.shortcut[1]
                assert isinstance(widening, nn.Conv2d)
                widening.weight.zero_()
                widening.weight[:inputs, :, 0, 0] = torch.eye(inputs)


def read_convolution(weights: dict[str, NDArray[Any]], name: str) -> tuple[Tensor, Tensor, Tensor]:
    """Filters (out, in, height, width), and the scale and bias after them."""
    filters = as_tensor(weights[f"{name}/conv/filters"]).permute(3, 2, 0, 1)
    scale = as_tensor(weights[f"{name}/scale/weights"])
    bias = scale * as_tensor(weights[f"{name}/conv/bias"])
    return filters, scale, bias + as_tensor(weights[f"{name}/scale/biases"])
