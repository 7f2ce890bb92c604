"""Faces in, calibrated probabilities out, by ONNX Runtime."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from calib.errors import RankotomError
from rankotom_edge.artifact import EVIDENCE, INPUT, LOGITS, PROBABILITIES, Artifact
from rankotom_edge.faces import Image
from rankotom_edge.runtime import open_session

Float32Array: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Scores:
    """A row for each face, a column for each of the model's labels."""

    logits: Float32Array  # (n, k)
    probabilities: Float32Array  # (n, k), calibrated
    evidence: Float32Array | None = None  # (n, k, height, width): where each logit comes from


class Classifier:
    def __init__(self, artifact: Artifact, threads: int = 1) -> None:
        self.artifact = artifact
        self._session = open_session(artifact.path, threads)
        self._outputs = [LOGITS, PROBABILITIES] + [EVIDENCE] * artifact.has_evidence

    def classify(self, faces: Image) -> Scores:
        """``faces``: (n, channels, size, size), as ``crop`` gives them; n may be 0."""
        self._check(faces)
        if len(faces) == 0:
            return self._nothing()
        return Scores(*self._session.run(self._outputs, {INPUT: faces}))

    def _check(self, faces: Image) -> None:
        crop = self.artifact.card.crop
        expected = (crop.channels, crop.size, crop.size)
        if faces.dtype != np.uint8 or faces.ndim != 4 or faces.shape[1:] != expected:
            raise RankotomError(
                f"{self.artifact.card.name} takes faces of bytes (n, {crop.channels}, {crop.size}, "
                f"{crop.size}); these are {faces.shape} of {faces.dtype}. Cut them with its crop."
            )

    def _nothing(self) -> Scores:
        shapes = {output.name: output.shape[1:] for output in self._session.get_outputs()}
        return Scores(*(np.zeros((0, *shapes[name]), np.float32) for name in self._outputs))
