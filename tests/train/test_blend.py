"""Eq. 2 with the paper's fixed box: exact pixels or a smooth seam, labels half and half."""

import pytest
import torch

from train.blend import blend_faces, blend_labels, smooth_blend


def test_the_upper_rows_are_of_one_face_and_the_lower_rows_of_the_other() -> None:
    upper = torch.arange(16, dtype=torch.uint8).reshape(1, 1, 4, 4)
    lower = upper + 100
    assert blend_faces(upper, lower).squeeze().tolist() == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [108, 109, 110, 111],
        [112, 113, 114, 115],
    ]


def test_the_middle_row_of_an_odd_height_goes_with_the_lower_half() -> None:
    upper, lower = torch.zeros(1, 1, 5, 2), torch.ones(1, 1, 5, 2)
    assert blend_faces(upper, lower)[0, 0, :, 0].tolist() == [0, 0, 1, 1, 1]


def test_every_channel_and_every_face_is_cut_alike() -> None:
    generator = torch.Generator().manual_seed(0)
    upper, lower = (
        torch.randint(0, 256, (6, 3, 8, 10), dtype=torch.uint8, generator=generator)
        for _ in range(2)
    )
    blended = blend_faces(upper, lower)
    assert blended.dtype == torch.uint8
    assert (blended[:, :, :4] == upper[:, :, :4]).all()
    assert (blended[:, :, 4:] == lower[:, :, 4:]).all()


def test_the_faces_that_are_blended_stay_as_they_are() -> None:
    upper, lower = torch.zeros(1, 1, 4, 4), torch.ones(1, 1, 4, 4)
    blend_faces(upper, lower)
    assert not upper.any()
    assert lower.all()


def test_a_face_blended_with_itself_is_that_face() -> None:
    face = torch.rand(2, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    assert (blend_faces(face, face) == face).all()


def test_a_smooth_blend_of_equally_bright_faces_differs_only_near_the_seam() -> None:
    generator = torch.Generator().manual_seed(0)
    upper = torch.randint(0, 256, (2, 1, 48, 48), dtype=torch.uint8, generator=generator)
    lower = upper.flip(3)  # the same mean and contrast
    plain, smooth = blend_faces(upper, lower), smooth_blend(upper, lower)
    assert smooth.dtype == torch.uint8
    assert torch.equal(smooth[:, :, :21], plain[:, :, :21])
    assert torch.equal(smooth[:, :, 27:], plain[:, :, 27:])
    assert (smooth[:, :, 21:27] != plain[:, :, 21:27]).any()


def test_a_smooth_blend_gives_the_lower_face_the_brightness_and_contrast_of_the_upper() -> None:
    generator = torch.Generator().manual_seed(0)
    upper = 60 + 60 * torch.rand(1, 1, 48, 48, generator=generator)
    lower = 3 * upper.flip(3) - 80
    smooth = smooth_blend(upper, lower)
    torch.testing.assert_close(smooth[:, :, 27:], upper.flip(3)[:, :, 27:].round(), atol=1, rtol=0)
    assert torch.equal(smooth[:, :, :21], upper[:, :, :21].round())


def test_a_smooth_blend_of_two_flat_faces_has_no_seam() -> None:
    dark, bright = (torch.full((1, 1, 48, 48), grey, dtype=torch.uint8) for grey in (60, 200))
    assert torch.equal(smooth_blend(dark, bright), dark)


def test_labels_are_mixed_half_and_half() -> None:
    anger, fear = torch.tensor([[1.0, 0.0, 0.0]]), torch.tensor([[0.0, 0.0, 1.0]])
    assert blend_labels(anger, fear).tolist() == [[0.5, 0.0, 0.5]]
    assert blend_labels(anger, anger).tolist() == [[1.0, 0.0, 0.0]]


def test_vote_shares_are_mixed_half_and_half() -> None:
    mixed = blend_labels(torch.tensor([[0.6, 0.4, 0.0]]), torch.tensor([[0.0, 0.2, 0.8]]))
    assert mixed[0].tolist() == pytest.approx([0.3, 0.3, 0.4])
