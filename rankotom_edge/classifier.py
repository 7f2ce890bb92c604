"""Faces in, calibrated probabilities out, by ONNX Runtime."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calib.errors import RankotomError
from rankotom_edge.artifact import EVIDENCE, INPUT, LOGITS, PROBABILITIES, Artifact
from rankotom_edge.faces import Image
from rankotom_edge.runtime import (
    PROVIDERS,
    REFUSALS,
    Provider,
    open_session,
    providers_here,
)

Float32Array: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Scores:
    """A row for each face, a column for each of the model's labels."""

    logits: Float32Array  # (n, k)
    probabilities: Float32Array  # (n, k), calibrated
    evidence: Float32Array | None = None  # (n, k, height, width): where each logit comes from


class Classifier:
    def __init__(self, artifact: Artifact, threads: int = 1, provider: Provider = "cpu") -> None:
        self.artifact = artifact
        self.provider = provider
        self._session = open_session(artifact.path, threads, provider=provider)
        self._outputs = [LOGITS, PROBABILITIES] + [EVIDENCE] * artifact.has_evidence

    def classify(self, faces: Image) -> Scores:
        """``faces``: (n, channels, size, size), as ``crop`` gives them; n may be 0."""
        self._check(faces)
        if len(faces) == 0:
            return self._nothing()
        return Scores(*self._session.run(self._outputs, {INPUT: faces}))

    def try_out(self) -> None:
        """A provider may load and still not run; one face of nothing shows it."""
        if self._session.get_providers()[0] != PROVIDERS[self.provider]:
            raise RankotomError(f"ONNX Runtime cannot load its {self.provider} provider here.")
        crop = self.artifact.card.crop
        try:
            self.classify(np.zeros((1, crop.channels, crop.size, crop.size), np.uint8))
        except REFUSALS as error:
            words = str(error).strip().splitlines()[0]
            raise RankotomError(f"The {self.provider} provider does not run: {words}") from error

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


def fastest_classifier(
    artifact: Artifact, wanted: Provider | Literal["auto"] = "auto", threads: int = 1
) -> tuple[Classifier, str | None]:
    """On the GPU where that works, else on the CPU and why.

    TensorRT only when asked for: as a provider it builds its engine at every start, for minutes.
    """
    here = providers_here()
    if wanted not in ("auto", *here):
        raise RankotomError(
            f"This ONNX Runtime has no {wanted} provider; it has {', '.join(here)}. "
            "For a GPU: pip uninstall onnxruntime, then pip install onnxruntime-gpu"
        )
    if wanted == "auto" and "cuda" not in here:
        return Classifier(artifact, threads), None
    try:
        classifier = Classifier(artifact, threads, "cuda" if wanted == "auto" else wanted)
        classifier.try_out()
    except RankotomError as error:
        if wanted != "auto":
            raise
        return Classifier(artifact, threads), f"{error} The CPU reads the faces instead."
    return classifier, None
