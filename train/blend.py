"""Blends: the upper half of one face on the lower half of another (Eq. 2, fixed box)."""

from torch import Tensor

# The paper fixes the box to b_x = b_y = 0, b_w = W, b_h = H / 2: both halves are equally large.
LAMBDA = 0.5


def blend_faces(upper: Tensor, lower: Tensor) -> Tensor:
    """M * upper + (1 - M) * lower, (n, c, h, w); M is 1 above the middle row and 0 below."""
    faces = lower.clone()
    half = faces.shape[2] // 2
    faces[:, :, :half] = upper[:, :, :half]
    return faces


def blend_labels(upper: Tensor, lower: Tensor) -> Tensor:
    """lambda y_i + (1 - lambda) y_j."""
    return LAMBDA * upper + (1 - LAMBDA) * lower
