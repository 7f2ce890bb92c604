"""The maps of two views: their gap, their holes, and what they are maps of."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import pytest
import torch
from torch import Generator, nn

from train.batches import Batch
from train.methods.attention import MapsOfTwoViews, draw_holes, map_gaps, two_views
from train.methods.settings import AttentionSettings
from train.networks import as_network, build_network

ALWAYS = AttentionSettings(weight=1.0, erase_chance=1.0)


def test_the_gap_is_the_mean_square_between_a_map_and_the_other_mirrored_by_columns() -> None:
    face = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 6.0]]]])
    mirror = torch.tensor([[[[2.0, 1.0], [4.0, 1.0]], [[0.0, 0.0], [0.0, 6.0]]]])
    # Class one: (1 2 / 3 4) - (1 2 / 1 4), 4 / 4. Class two: the same 6, in the other column.
    assert map_gaps(face, mirror).tolist() == [[1.0, 72 / 4]]


def test_a_maps_mean_is_its_classs_logit_without_the_bias() -> None:
    torch.manual_seed(0)
    network = as_network(build_network("edge-narrow", channels=1, classes=4, dropout=0.0)).eval()
    faces = torch.randn(3, 1, 48, 48)
    logits, maps, of_other = MapsOfTwoViews(network)(faces, faces.flip(3))
    assert maps.shape == (3, 4, 3, 3)  # three columns: the middle one is its own mirror image
    torch.testing.assert_close(maps.mean(dim=(2, 3)) + network.fc.bias, logits)
    torch.testing.assert_close(logits, network(faces))  # at test: one pass, plain logits
    torch.testing.assert_close(of_other, network.evidence(network.features(faces.flip(3))))


def test_a_network_that_is_symmetric_but_for_its_strides_still_has_a_gap() -> None:
    """A stride of 2 on an even width looks at other columns in the mirror image."""
    convolution = nn.Conv2d(1, 1, 3, stride=2, padding=1, bias=False)
    nn.init.ones_(convolution.weight)
    faces = torch.randn(2, 1, 8, 8, generator=Generator().manual_seed(0))
    maps, mirrored = convolution(faces), convolution(faces.flip(3))
    assert (map_gaps(maps, mirrored) > 0.1).all()
    convolution.stride = (1, 1)
    torch.testing.assert_close(
        map_gaps(convolution(faces), convolution(faces.flip(3))), torch.zeros(2, 1)
    )


def test_holes_are_whole_squares_of_the_given_area_in_the_given_share_of_faces() -> None:
    settings = AttentionSettings(weight=1.0, erase_chance=0.25)
    x, y, side = draw_holes(4000, settings, Generator().manual_seed(0)).unbind(dim=1)
    drawn = side > 0
    assert drawn.float().mean().item() == pytest.approx(0.25, abs=0.03)
    area = side[drawn] ** 2
    assert (area.min().item(), area.max().item()) == pytest.approx((0.02, 0.25), abs=0.002)
    for centre in (x[drawn], y[drawn]):
        assert (centre - side[drawn] / 2).min() >= 0
        assert (centre + side[drawn] / 2).max() <= 1 + 1e-6


@pytest.mark.parametrize("erase", ["together", "apart"])
def test_a_face_and_its_mirror_image_have_one_hole_or_each_its_own(
    erase: Literal["together", "apart"], hand_batch: Callable[..., Batch]
) -> None:
    faces = torch.ones(8, 1, 20, 20)
    batch = hand_batch([(0, 0)] * 8, [0] * 8)
    view, other = two_views(batch, faces, replace(ALWAYS, erase=erase), global_batch=8)
    for each in (view, other):
        assert ((each == 0).float().mean(dim=(1, 2, 3)) > 0).all()
    same = (view.flip(3) == other).all(dim=(1, 2, 3))
    assert same.all() if erase == "together" else not same.any()


def test_the_second_view_is_the_mirror_image_of_the_first(hand_batch: Callable[..., Batch]) -> None:
    faces = torch.randn(2, 1, 4, 4, generator=Generator().manual_seed(0))
    batch = hand_batch([(0, 0)] * 2, [0] * 2)
    for erase in ("together", "apart"):
        settings = replace(ALWAYS, erase_chance=0.0, erase=erase)
        view, other = two_views(batch, faces, settings, global_batch=2)
        assert torch.equal(view, faces)
        assert torch.equal(other[:, 0, :, 0], faces[:, 0, :, 3])


def test_holes_are_those_of_the_global_batch_whichever_rank_has_the_face(
    hand_batch: Callable[..., Batch],
) -> None:
    batch, faces = hand_batch([(0, 0)] * 4, [0] * 4), torch.ones(4, 1, 20, 20)
    settings = replace(ALWAYS, erase="apart")
    whole = two_views(batch, faces, settings, global_batch=4)
    mine = replace(batch, places=torch.tensor([1, 3]))
    part = two_views(mine, faces[:2], settings, global_batch=4)
    for ours, of_all in zip(part, whole, strict=True):
        assert torch.equal(ours, of_all[[1, 3]])
