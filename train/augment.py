"""Augmentations: random draws for a whole batch, applied on the training device.

Drawing is separate from applying, so that several processes can make the same draws for the global
batch and each apply its own slice.
"""

import math
from dataclasses import dataclass, fields

import torch
from torch import Generator, Tensor
from torch.nn import functional


@dataclass(frozen=True)
class Strength:
    """The range of each augmentation; the defaults are the paper's weak ones, crop and flip."""

    shift: float = 0.125  # share of the width; with a replicated border this is a random crop
    flip: bool = True
    rotation: float = 0.0  # degrees
    scale: float = 0.0  # 0.1: 90 % to 110 %
    light: float = 0.0  # brightness and contrast, as a share of the range
    erase: float = 0.0  # largest side of the erased square, as a share of the width
    darkest: float = 1.0  # the smallest share of its light that a face may keep


@dataclass(frozen=True)
class Draws:
    """The random choices for each face of a batch."""

    transform: Tensor  # (n, 2, 3)
    light: Tensor  # (n, 2): gain and offset
    erased: Tensor  # (n, 3): centre x, centre y and side, as shares of the width

    def part(self, where: slice | Tensor) -> "Draws":
        return Draws(*(getattr(self, field.name)[where] for field in fields(self)))


def draw(count: int, strength: Strength, generator: Generator) -> Draws:
    def between(low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand(count, *shape, generator=generator)

    angle = between(-1, 1) * math.radians(strength.rotation)
    scale = 1 + between(-1, 1) * strength.scale
    mirror = torch.where(between(0, 1) < (0.5 if strength.flip else 0.0), -1.0, 1.0)
    shift = between(-2, 2, 2) * strength.shift  # affine_grid's width is 2
    transform = torch.zeros(count, 2, 3)
    transform[:, 0, 0] = mirror * scale * angle.cos()
    transform[:, 0, 1] = -mirror * scale * angle.sin()
    transform[:, 1, 0] = scale * angle.sin()
    transform[:, 1, 1] = scale * angle.cos()
    transform[:, :, 2] = shift
    gain, offset = 1 + between(-1, 1) * strength.light, between(-1, 1) * strength.light
    side = between(0, 1) * strength.erase
    erased = torch.cat([between(0, 1, 2), side[:, None]], dim=1)
    # Less light scales pixels towards black (-1); the cube leaves most faces almost as they are.
    # Drawn only if asked for, so that recipes without it keep their random sequence.
    exposure = strength.darkest ** between(0, 1) ** 3 if strength.darkest < 1 else torch.ones(count)
    light = torch.stack([gain * exposure, gain * (exposure - 1) + offset], dim=1)
    return Draws(transform, light, erased)


def augment(faces: Tensor, draws: Draws, size: int) -> Tensor:
    """uint8 faces (n, c, h, w) to augmented floats (n, c, size, size), about -1 to 1."""
    count, channels = faces.shape[:2]
    device = faces.device
    if count == 0:  # no FR face has a pseudo-label yet
        return torch.zeros(0, channels, size, size, device=device)
    grid = functional.affine_grid(
        draws.transform.to(device), [count, channels, size, size], align_corners=False
    )
    moved = functional.grid_sample(
        scale_pixels(faces), grid, padding_mode="border", align_corners=False
    )
    gain, offset = draws.light.to(device).view(count, 2, 1, 1, 1).unbind(dim=1)
    return (moved * gain + offset) * ~erasure(draws.erased.to(device), size)


def erasure(erased: Tensor, size: int) -> Tensor:
    """True inside each face's erased square, (n, 1, size, size)."""
    position = (torch.arange(size, device=erased.device) + 0.5) / size
    centre, side = erased[:, :2], erased[:, 2:]
    inside = (position - centre[:, :, None]).abs() < side[:, :, None] / 2
    columns, rows = inside.unbind(dim=1)
    return (rows[:, :, None] & columns[:, None, :])[:, None]


def scale_pixels(faces: Tensor) -> Tensor:
    """uint8 to floats from -1 to 1, as in the exported graph."""
    return faces.float() / 127.5 - 1
