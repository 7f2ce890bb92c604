"""The networks: ResNets with torchvision's parameter names, and the edge network.

The edge network is a small ResNet of 3x3 convolutions, batch norm and ReLU, which quantize well
and which ONNX Runtime and TensorRT fuse.
"""

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from calib.errors import RankotomError
from train.teachers.dlib import LEFT_OUT_AT_THE_EDGE, Dlib
from train.teachers.faceres import FaceRes
from train.teachers.recogniser import Recogniser

NetworkName = Literal[
    "resnet18",
    "resnet50",
    "edge",
    "edge-narrow",
    # dlib's at 104 pixels with three blocks left out: the embedded model's
    "edge-dlib",
    # Face recognisers and the size they enlarge a face to, in pixels (train/teachers)
    "dlib-112",
    "dlib-128",
    "dlib-150",
    "faceres-112",
    "faceres-128",
    "faceres-160",
]
NETWORKS: tuple[NetworkName, ...] = get_args(NetworkName)


def convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions around a shortcut."""

    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = convolution(inputs, width, 3, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = convolution(width, width, 3)
        self.bn2 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = shortcut(inputs, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return torch.relu(out + self.downsample(x))


class Bottleneck(nn.Module):
    """1x1, 3x3, 1x1 convolutions around a shortcut; the 3x3 has the stride, as in torchvision."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * self.expansion
        self.conv1 = convolution(inputs, width, 1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = convolution(width, width, 3, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = convolution(width, outputs, 1)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = shortcut(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        return torch.relu(out + self.downsample(x))


def shortcut(inputs: int, outputs: int, stride: int) -> nn.Module:
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    return nn.Sequential(convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))


def stage(
    block: type[BasicBlock] | type[Bottleneck], depth: int, inputs: int, width: int, stride: int
) -> nn.Sequential:
    first = block(inputs, width, stride)
    return nn.Sequential(
        first, *(block(width * block.expansion, width, 1) for _ in range(depth - 1))
    )


class ImportanceLinear(nn.Linear):
    """SCN's last layer (train/methods/scn.py): alpha (W f + b), alpha = sigmoid(a . f + a0)."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        self.importance = nn.Linear(inputs, 1)
        # What the export adds to the logits; a bias would be multiplied by alpha.
        self.register_buffer("offsets", torch.zeros(outputs), persistent=False)

    def importance_of(self, pooled: Tensor) -> Tensor:
        return torch.sigmoid(self.importance(pooled))

    def forward(self, pooled: Tensor) -> Tensor:
        logits = self.importance_of(pooled) * super().forward(pooled)
        return logits + self.get_buffer("offsets")


class ResNet(nn.Module):
    """Stem, four stages, global average pool, dropout, one linear layer."""

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        depths: tuple[int, int, int, int],
        widths: tuple[int, int, int, int],
        *,
        stem: nn.Sequential,
        classes: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        # torchvision's names (conv1, bn1, layer1 ... fc), so that its weight files fit.
        self.conv1, self.bn1, self.stem_tail = stem[0], stem[1], stem[2]
        outputs = [width * block.expansion for width in widths]
        self.layer1 = stage(block, depths[0], widths[0], widths[0], stride=1)
        self.layer2 = stage(block, depths[1], outputs[0], widths[1], stride=2)
        self.layer3 = stage(block, depths[2], outputs[1], widths[2], stride=2)
        self.layer4 = stage(block, depths[3], outputs[2], widths[3], stride=2)
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(outputs[3], classes)
        initialise(self)

    def features(self, x: Tensor) -> Tensor:
        """The feature maps of the last stage, (n, channels, height, width)."""
        stem = self.stem_tail(self.bn1(self.conv1(x)))
        maps: Tensor = self.layer4(self.layer3(self.layer2(self.layer1(stem))))
        return maps

    def classify(self, features: Tensor) -> Tensor:
        logits: Tensor = self.fc(self.dropout(features.mean(dim=(2, 3))))
        return logits

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.features(x))

    def evidence(self, features: Tensor) -> Tensor:
        """Class activation maps (Zhou et al. 2016): where each class's logit comes from.

        The mean of a map is the logit of its class without the bias.
        """
        return torch.einsum("nchw,kc->nkhw", features, self.fc.weight)


def initialise(network: nn.Module) -> None:
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if isinstance(module, BasicBlock):
            # Each block starts as its shortcut, which allows larger steps in the first epochs.
            nn.init.zeros_(module.bn2.weight)
        if isinstance(module, Bottleneck):
            nn.init.zeros_(module.bn3.weight)


def torchvision_stem(channels: int) -> nn.Sequential:
    tail = nn.Sequential(nn.ReLU(inplace=True), nn.MaxPool2d(3, stride=2, padding=1))
    return nn.Sequential(
        nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64), tail
    )


def edge_stem(channels: int, width: int) -> nn.Sequential:
    return nn.Sequential(
        convolution(channels, width, 3, stride=2), nn.BatchNorm2d(width), nn.ReLU(inplace=True)
    )


def find_network(name: str) -> NetworkName:
    for known in NETWORKS:
        if known == name:
            return known
    raise RankotomError(f"There is no network {name!r}. Choose one of {', '.join(NETWORKS)}.")


Network = ResNet | Recogniser


def as_network(module: nn.Module) -> Network:
    """The module as one that has features and a last layer."""
    assert isinstance(module, ResNet | Recogniser), type(module)
    return module


def build_network(
    name: NetworkName, *, channels: int, classes: int, dropout: float, importance: bool = False
) -> Network:
    """With ``importance``, its last layer is SCN's."""
    network = build_plain_network(name, channels=channels, classes=classes, dropout=dropout)
    if importance:
        head = ImportanceLinear(network.fc.in_features, classes)
        head.weight, head.bias = network.fc.weight, network.fc.bias  # all methods start alike
        network.fc = head
    return network


def build_plain_network(
    name: NetworkName, *, channels: int, classes: int, dropout: float
) -> Network:
    if name == "edge-dlib":
        return Dlib(104, channels, classes, dropout, without=LEFT_OUT_AT_THE_EDGE)
    kind, _, pixels = name.partition("-")
    if kind == "dlib":
        return Dlib(int(pixels), channels, classes, dropout)
    if kind == "faceres":
        return FaceRes(int(pixels), channels, classes, dropout)
    if name == "resnet18":
        stem = torchvision_stem(channels)
        return ResNet(
            BasicBlock,
            (2, 2, 2, 2),
            (64, 128, 256, 512),
            stem=stem,
            classes=classes,
            dropout=dropout,
        )
    if name == "resnet50":
        stem = torchvision_stem(channels)
        return ResNet(
            Bottleneck,
            (3, 4, 6, 3),
            (64, 128, 256, 512),
            stem=stem,
            classes=classes,
            dropout=dropout,
        )
    widths = (48, 96, 192, 224) if name == "edge" else (16, 32, 64, 128)
    return ResNet(
        BasicBlock,
        (2, 2, 2, 2),
        widths,
        stem=edge_stem(channels, widths[0]),
        classes=classes,
        dropout=dropout,
    )
