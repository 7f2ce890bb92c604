"""Sizes and costs against the published ones, and evidence maps that add up to the logits."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from calib.errors import RankotomError
from train.networks import Network, NetworkName, build_network, find_network


def build(name: NetworkName, channels: int = 1, classes: int = 8) -> Network:
    return build_network(name, channels=channels, classes=classes, dropout=0.0)


def multiply_adds(network: nn.Module, channels: int, size: int) -> int:
    total = 0

    def count(module: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        nonlocal total
        each = module.weight[0].numel()  # of one output value
        total += each * output.numel()

    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            module.register_forward_hook(count)
    with torch.inference_mode():
        network.eval()(torch.zeros(1, channels, size, size))
    return total


@pytest.mark.parametrize(
    ("name", "published"), [("resnet18", 11_689_512), ("resnet50", 25_557_032)]
)
def test_a_resnet_has_the_published_number_of_parameters(name: NetworkName, published: int) -> None:
    network = build(name, channels=3, classes=1000)
    assert sum(each.numel() for each in network.parameters()) == published


@pytest.mark.parametrize(("name", "published"), [("resnet18", 1.81e9), ("resnet50", 4.09e9)])
def test_a_resnet_costs_the_published_multiply_adds(name: NetworkName, published: float) -> None:
    network = build(name, channels=3, classes=1000)
    assert multiply_adds(network, 3, 224) == pytest.approx(published, rel=0.01)


def test_the_edge_network_costs_60_to_150_million_multiply_adds() -> None:
    assert 60e6 < multiply_adds(build("edge"), 1, 48) < 150e6


def test_the_narrow_edge_network_is_cheaper() -> None:
    assert multiply_adds(build("edge-narrow"), 1, 48) < multiply_adds(build("edge"), 1, 48) / 3


def test_the_edge_network_is_made_of_what_quantizes_and_fuses_well() -> None:
    leaves = {type(each) for each in build("edge").modules() if not list(each.children())}
    assert leaves <= {nn.Conv2d, nn.BatchNorm2d, nn.ReLU, nn.Identity, nn.Dropout, nn.Linear}


# The recognisers see grey faces of the crop's size, see tests/train/teachers.
@pytest.mark.parametrize("name", ["resnet18", "resnet50", "edge", "edge-narrow"])
def test_any_number_of_classes_and_any_size_go_through(name: NetworkName) -> None:
    network = build(name, channels=3, classes=7).eval()
    assert network(torch.zeros(2, 3, 64, 64)).shape == (2, 7)


@pytest.mark.parametrize("name", ["edge", "resnet50"])
def test_the_mean_of_an_evidence_map_is_the_logit_less_its_bias(name: NetworkName) -> None:
    torch.manual_seed(0)
    network = build(name).eval()
    nn.init.normal_(network.fc.bias)
    with torch.inference_mode():
        features = network.features(torch.randn(3, 1, 48, 48))
        evidence, logits = network.evidence(features), network.classify(features)
    assert evidence.shape[:2] == (3, 8)
    torch.testing.assert_close(
        evidence.mean(dim=(2, 3)), logits - network.fc.bias, atol=1e-4, rtol=1e-4
    )


def test_every_block_starts_as_its_shortcut() -> None:
    torch.manual_seed(0)
    network = build("edge").eval()
    maps = torch.rand(1, 48, 12, 12)
    assert (network.layer1(maps) == maps).all()


def test_dropout_is_for_training_alone() -> None:
    network = build_network("edge-narrow", channels=1, classes=8, dropout=0.5)
    features = torch.ones(1, 128, 2, 2)
    assert not torch.equal(network.classify(features), network.classify(features))
    network.eval()
    assert torch.equal(network.classify(features), network.classify(features))


def test_an_unknown_network_is_an_error_that_lists_the_known_ones() -> None:
    assert find_network("resnet50") == "resnet50"
    with pytest.raises(RankotomError, match=r"'vgg'.*resnet18.*edge"):
        find_network("vgg")
