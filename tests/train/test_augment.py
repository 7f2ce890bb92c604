"""Weak augmentations: what each draw does to the pixels."""

import math
from dataclasses import fields

import pytest
import torch
from torch import Generator, Tensor

from train.augment import Draws, Strength, augment, draw, erasure, scale_pixels

STILL = Strength(shift=0.0, flip=False)
STRONG = Strength(shift=0.1, rotation=20.0, scale=0.2, light=0.3, erase=0.5)


def random_faces(count: int, size: int = 16, channels: int = 1) -> Tensor:
    generator = Generator().manual_seed(3)
    return torch.randint(
        0, 256, (count, channels, size, size), dtype=torch.uint8, generator=generator
    )


def drawn(count: int, strength: Strength, seed: int = 0) -> Draws:
    return draw(count, strength, Generator().manual_seed(seed))


def one_draw(transform: list[list[float]]) -> Draws:
    return Draws(torch.tensor([transform]), torch.tensor([[1.0, 0.0]]), torch.zeros(1, 3))


def test_pixels_are_scaled_from_minus_one_to_one() -> None:
    pixels = torch.tensor([0, 51, 255], dtype=torch.uint8)
    assert scale_pixels(pixels).tolist() == pytest.approx([-1.0, -0.6, 1.0])


def test_without_strength_pixels_are_only_scaled() -> None:
    faces = random_faces(5, channels=3)
    torch.testing.assert_close(
        augment(faces, drawn(5, STILL), 16), scale_pixels(faces), atol=1e-5, rtol=0
    )


def test_a_flip_mirrors_left_and_right_and_half_of_the_faces() -> None:
    faces = random_faces(64)
    moved = augment(faces, drawn(64, Strength(shift=0.0, flip=True)), 16)
    as_it_was = (moved - scale_pixels(faces)).abs().amax(dim=(1, 2, 3)) < 1e-4
    mirrored = (moved - scale_pixels(faces).flip(3)).abs().amax(dim=(1, 2, 3)) < 1e-4
    assert (as_it_was ^ mirrored).all()
    assert 20 < int(mirrored.sum()) < 44


def test_a_shift_is_a_crop_with_the_border_repeated() -> None:
    faces = random_faces(1)
    quarter = augment(faces, one_draw([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]), 16)
    expected = scale_pixels(faces)
    torch.testing.assert_close(quarter[..., :12], expected[..., 4:], atol=1e-5, rtol=0)
    torch.testing.assert_close(
        quarter[..., 12:], expected[..., 15:].expand(1, 1, 16, 4), atol=1e-5, rtol=0
    )


def test_a_quarter_turn_turns_the_picture() -> None:
    faces = random_faces(1)
    turned = augment(faces, one_draw([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]]), 16)
    expected = scale_pixels(faces).rot90(dims=(2, 3))
    torch.testing.assert_close(turned, expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("size", [8, 16, 24])
def test_faces_come_out_at_the_size_asked_for(size: int) -> None:
    moved = augment(random_faces(3, channels=3), drawn(3, STRONG), size)
    assert moved.shape == (3, 3, size, size)


def test_draws_stay_within_their_strength() -> None:
    draws = drawn(500, STRONG)
    scale = draws.transform[:, :, 0].norm(dim=1)
    angle = torch.atan2(draws.transform[:, 1, 0], draws.transform[:, 1, 1]).rad2deg()
    shift = draws.transform[:, :, 2] / 2
    for values, reach in ((scale - 1, 0.2), (angle, 20.0), (shift, 0.1)):
        assert values.abs().max() <= reach * (1 + 1e-5)
        assert values.abs().max() > reach * 0.9
    assert draws.light[:, 0].sub(1).abs().max() <= 0.3
    assert draws.light[:, 1].abs().max() <= 0.3
    assert 0.45 < draws.erased[:, 2].max() <= 0.5


def test_light_is_a_gain_and_an_offset() -> None:
    faces = random_faces(1)
    draws = Draws(
        torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]),
        torch.tensor([[0.5, 0.25]]),
        torch.zeros(1, 3),
    )
    torch.testing.assert_close(
        augment(faces, draws, 16), scale_pixels(faces) * 0.5 + 0.25, atol=1e-5, rtol=0
    )


def test_a_darker_face_is_scaled_towards_black_and_most_keep_their_light() -> None:
    draws = drawn(2000, Strength(shift=0.0, flip=False, darkest=0.1))
    exposure = draws.light[:, 0]
    assert exposure.min() < 0.12
    assert exposure.max() <= 1
    assert exposure.median() > 0.6
    faces = random_faces(2000)
    darker = augment(faces, draws, 16)
    expected = exposure[:, None, None, None] * faces / 127.5 - 1
    torch.testing.assert_close(darker, expected, atol=1e-4, rtol=0)


def test_the_erased_square_lies_where_it_was_drawn() -> None:
    inside = erasure(torch.tensor([[0.25, 0.75, 0.5]]), 16)[0, 0]
    rows, columns = torch.nonzero(inside, as_tuple=True)
    assert columns.unique().tolist() == list(range(8))
    assert rows.unique().tolist() == list(range(8, 16))
    assert int(inside.sum()) == 64


def test_the_erased_share_of_a_face_is_the_square_of_its_side() -> None:
    side = torch.rand(50, generator=Generator().manual_seed(0))
    centred = torch.stack([torch.full((50,), 0.5), torch.full((50,), 0.5), side], dim=1)
    share = erasure(centred, 200).float().mean(dim=(1, 2, 3))
    torch.testing.assert_close(share, side**2, atol=0.02, rtol=0)


def test_an_erased_pixel_is_mid_grey_and_the_others_are_kept() -> None:
    faces = random_faces(4)
    draws = drawn(4, Strength(shift=0.0, flip=False, erase=0.8))
    moved, hidden = augment(faces, draws, 16), erasure(draws.erased, 16)
    assert hidden.any()
    assert (moved[hidden] == 0).all()
    torch.testing.assert_close(moved[~hidden], scale_pixels(faces)[~hidden], atol=1e-5, rtol=0)


@pytest.mark.parametrize("where", [slice(2, 5), torch.tensor([6, 0, 3])])
def test_a_part_of_the_draws_does_to_its_faces_what_the_whole_does(where: slice | Tensor) -> None:
    faces, draws = random_faces(8), drawn(8, STRONG)
    whole = augment(faces, draws, 16)
    assert (augment(faces[where], draws.part(where), 16) == whole[where]).all()


def test_the_same_seed_gives_the_same_draws_and_another_seed_others() -> None:
    first, again, other = drawn(4, STRONG, 1), drawn(4, STRONG, 1), drawn(4, STRONG, 2)
    for each in fields(Draws):
        assert (getattr(first, each.name) == getattr(again, each.name)).all()
    assert not (first.transform == other.transform).all()


def test_an_empty_batch_stays_empty() -> None:
    nothing = augment(random_faces(0), drawn(0, STRONG), 24)
    assert nothing.shape == (0, 1, 24, 24)


def test_the_papers_weak_augmentation_is_a_crop_and_a_flip_alone() -> None:
    draws = drawn(100, Strength())
    assert (draws.transform[:, 0, 1] == 0).all()
    assert (draws.transform[:, 1, 1] == 1).all()
    assert (draws.light == torch.tensor([1.0, 0.0])).all()
    assert (draws.erased[:, 2] == 0).all()
    assert math.isclose(draws.transform[:, :, 2].abs().max().item(), 0.25, rel_tol=0.1)
