"""HSE_FaceRec (Andrey Savchenko; ``faceres`` in human) as a network for expressions.

MobileNet v1, trained on VGGFace2: depthwise 3x3 and pointwise 1x1 convolutions, ReLU6. Its input
was blue, green and red from 0 to 255, less a mean for each. Here faces are grey, from -1 to 1: the
first convolution includes the conversion, so its padding with zeros now means mid-grey.
"""

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from calib.errors import RankotomError
from train.teachers.recogniser import Recogniser, as_tensor, batch_norm, set_convolution

MEANS = (103.939, 116.779, 123.68)  # blue, green, red
# Channels out and stride of each pair of convolutions.
PAIRS = (
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    *((512, 1) for _ in range(5)),
    (1024, 2),
    (1024, 1),
)


class Pair(nn.Module):
    """A depthwise convolution, then a pointwise one."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.depthwise = nn.Conv2d(
            inputs, inputs, 3, stride, padding=stride % 2, groups=inputs, bias=False
        )
        self.bn1 = batch_norm(inputs)
        self.pointwise = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.bn2 = batch_norm(outputs)
        self.relu6 = nn.ReLU6()

    def forward(self, x: Tensor) -> Tensor:
        x = pad_same(x) if self.stride == 2 else x
        out = self.relu6(self.bn1(self.depthwise(x)))
        maps: Tensor = self.relu6(self.bn2(self.pointwise(out)))
        return maps


def pad_same(x: Tensor) -> Tensor:
    """TensorFlow's SAME padding for a 3x3 convolution of stride 2: an even size gets one row or
    column after it, an odd size one on each side."""
    down, right = (int(side) % 2 for side in x.shape[-2:])  # plain numbers, for the export
    return functional.pad(x, (right, 1, down, 1))


class FaceRes(Recogniser):
    manifest = "faceres.json"

    def __init__(self, size: int, channels: int, classes: int, dropout: float) -> None:
        super().__init__(size, 1024, classes, dropout)
        if channels != 1:
            raise RankotomError(f"faceres takes grey faces, not {channels} channels.")
        self.conv1 = nn.Conv2d(1, 32, 3, stride=2, bias=False)
        self.bn1 = batch_norm(32)
        self.relu6 = nn.ReLU6()
        widths = (32, *(outputs for outputs, _ in PAIRS))
        self.pairs = nn.Sequential(
            *(
                Pair(inputs, outputs, stride)
                for inputs, (outputs, stride) in zip(widths, PAIRS, strict=False)
            )
        )

    def maps(self, x: Tensor) -> Tensor:
        maps: Tensor = self.pairs(self.relu6(self.bn1(self.conv1(pad_same(x)))))
        return maps

    def copy_weights(self, weights: dict[str, NDArray[Any]]) -> None:
        filters = as_tensor(weights["conv1/convolution/merged_input"]).permute(3, 2, 0, 1)
        # A grey level g = 127.5 (x + 1) was g - mean in each colour.
        offset = filters.sum(dim=(2, 3)) @ torch.tensor([127.5 - mean for mean in MEANS])
        bias = as_tensor(weights["conv1_bn/batchnorm_1/sub"]) + offset
        grey = 127.5 * filters.sum(1, keepdim=True)
        set_convolution(self.conv1, self.bn1, grey, torch.ones(len(grey)), bias)
        for number, pair in enumerate(self.pairs, start=1):
            assert isinstance(pair, Pair)
            depthwise = as_tensor(weights[f"conv_dw_{number}/depthwise_kernel"]).permute(2, 3, 0, 1)
            norm = f"conv_dw_{number}_bn/batchnorm_1"
            scale, bias = as_tensor(weights[f"{norm}/mul"]), as_tensor(weights[f"{norm}/sub"])
            set_convolution(pair.depthwise, pair.bn1, depthwise, scale, bias)
            pointwise = as_tensor(weights[f"conv_pw_{number}/convolution/merged_input"])
            pointwise = pointwise.permute(3, 2, 0, 1)
            bias = as_tensor(weights[f"conv_pw_{number}_bn/batchnorm_1/sub"])
            set_convolution(pair.pointwise, pair.bn2, pointwise, torch.ones(len(pointwise)), bias)
