"""Blends: the upper half of one face on the lower half of another (Eq. 2, fixed box)."""

import torch
from torch import Tensor

# The paper fixes the box to b_x = b_y = 0, b_w = W, b_h = H / 2: both halves are equally large.
LAMBDA = 0.5
FEATHER = 6 / 48  # share of the height that a smooth seam extends over; chosen by eye


def blend_faces(upper: Tensor, lower: Tensor) -> Tensor:
    """M * upper + (1 - M) * lower, (n, c, h, w); M is 1 above the middle row and 0 below."""
    faces = lower.clone()
    half = faces.shape[2] // 2
    faces[:, :, :half] = upper[:, :, :half]
    return faces


def smooth_blend(upper: Tensor, lower: Tensor) -> Tensor:
    """The same with a soft seam, and the lower face in the brightness and contrast of the upper.

    A plain seam is an edge that no face has. A network that learns to see the edge is less sure of
    every blend, without learning anything about expressions.
    """
    above, below = upper.float(), lower.float()
    means = [face.mean(dim=(2, 3), keepdim=True) for face in (above, below)]
    spreads = [face.std(dim=(2, 3), keepdim=True).clamp_min(1) for face in (above, below)]
    below = (below - means[1]) * (spreads[0] / spreads[1]) + means[0]
    height = upper.shape[2]
    rows = torch.arange(height, device=upper.device) + 0.5
    mask = (0.5 - (rows - height / 2) / (FEATHER * height)).clamp(0, 1)[:, None]
    return (mask * above + (1 - mask) * below).round().clamp(0, 255).to(upper.dtype)


def blend_labels(upper: Tensor, lower: Tensor) -> Tensor:
    """lambda y_i + (1 - lambda) y_j."""
    return LAMBDA * upper + (1 - LAMBDA) * lower
