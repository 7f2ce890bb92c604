"""Faces without labels, in two parts: a smaller model is calibrated on one, judged on the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from export.predict import faces_hash
from rankotom_edge.model.card import FacesUsed


@dataclass(frozen=True, eq=False)
class UnlabelledFaces:
    name: str
    calibration: NDArray[np.uint8]  # (n, channels, size, size)
    held_out: NDArray[np.uint8]

    @property
    def used(self) -> tuple[FacesUsed, FacesUsed]:
        """The calibration faces and the held-out faces, as a model card names them."""
        return (
            _faces_used(f"{self.name}/calibrate", self.calibration),
            _faces_used(f"{self.name}/judge", self.held_out),
        )


def _faces_used(name: str, pixels: NDArray[np.uint8]) -> FacesUsed:
    return FacesUsed(name, len(pixels), faces_hash(pixels, np.empty(0, np.int64)))
