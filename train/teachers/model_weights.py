"""Reads the weights of one of our FP32 model files back into its network, to train it further.

The file has no batch norms: they were folded into the convolutions, and average pools into their
shortcuts (``Dlib.merge_for_export``). The last layer's bias includes the offsets.
"""

import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn

from calib.errors import RankotomError
from rankotom_edge.model.artifact import Artifact
from train.networks import build_network, find_network
from train.teachers.dlib import Block, Dlib
from train.teachers.recogniser import set_convolution

HEAD = "network.fc"  # the last layer's name in the file; convolutions have torch's own names


def load_model_network(artifact: Artifact) -> Dlib:
    """The network that the file was exported from, with batch norms that change nothing yet."""
    card = artifact.card
    name = find_network(str(card.recipe.get("network")))
    network = build_network(
        name, channels=card.crop.channels, classes=len(card.labels), dropout=0.0
    )
    if card.precision != "fp32" or not isinstance(network, Dlib):
        raise RankotomError(
            f"{artifact.path} is a {card.precision} model of the network {name}. Training goes on "
            "from FP32 models of dlib's network alone, as ferplus-fp32 is."
        )
    initializers = onnx.load(artifact.path).graph.initializer
    tensors = {each.name: torch.tensor(numpy_helper.to_array(each)) for each in initializers}
    try:
        copy_weights(network, tensors)
    except (KeyError, RuntimeError) as error:
        raise RankotomError(
            f"{artifact.path} does not hold the weights of {name}, as its card says: {error}"
        ) from error
    network.fc.bias.data -= torch.tensor(card.offsets or [0.0] * len(card.labels))
    return network


@torch.no_grad()
def copy_weights(network: Dlib, tensors: dict[str, Tensor]) -> None:
    network.fc.weight.copy_(tensors[f"{HEAD}.weight"])
    network.fc.bias.copy_(tensors[f"{HEAD}.bias"])
    _copy_convolution(network.conv1, network.bn1, tensors, "conv1")
    for number, block in enumerate(network.blocks):
        if not isinstance(block, Block):
            continue
        name = f"blocks.{number}"
        _copy_convolution(block.conv1, block.bn1, tensors, f"{name}.conv1")
        _copy_convolution(block.conv2, block.bn2, tensors, f"{name}.conv2")
        if isinstance(block.shortcut, nn.Sequential):
            widening = block.shortcut[1]
            assert isinstance(widening, nn.Conv2d)
            # The average over 2 x 2 pixels, then 1 x 1: a quarter of the filter at each pixel.
            widening.weight.copy_(tensors[f"{name}.shortcut.weight"].sum((2, 3), keepdim=True))


def _copy_convolution(
    convolution: nn.Conv2d, norm: nn.BatchNorm2d, tensors: dict[str, Tensor], name: str
) -> None:
    filters, bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
    set_convolution(convolution, norm, filters, torch.ones(len(bias)), bias)
