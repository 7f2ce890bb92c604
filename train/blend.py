"""Synthesis: the upper half of one face on the lower half of another (Eq. 2, fixed box)."""

from torch import Tensor

# The paper fixes the box to b_x = b_y = 0, b_w = W, b_h = H / 2: both halves weigh the same.
LAMBDA = 0.5


def blend_faces(upper: Tensor, lower: Tensor) -> Tensor:
    """M * upper + (1 - M) * lower, where M is one above the middle row; (n, c, h, w)."""
    faces = lower.clone()
    half = faces.shape[2] // 2
    faces[:, :, :half] = upper[:, :, :half]
    return faces


def blend_labels(upper: Tensor, lower: Tensor) -> Tensor:
    """The labels mixed as the faces are: lambda y_i + (1 - lambda) y_j."""
    return LAMBDA * upper + (1 - LAMBDA) * lower
