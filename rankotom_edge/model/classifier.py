"""Faces in, calibrated probabilities out, by ONNX Runtime or a TensorRT engine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calib.errors import RankotomError
from rankotom_edge.closing import Closing
from rankotom_edge.frame import Image
from rankotom_edge.model.artifact import EVIDENCE, INPUT, LOGITS, PROBABILITIES, Artifact
from rankotom_edge.model.card import ModelCard
from rankotom_edge.model.onnx_runtime import (
    PROVIDERS,
    REFUSALS,
    Provider,
    open_session,
    providers_here,
)
from rankotom_edge.model.target import at_home, needs_exact_arithmetic
from rankotom_edge.model.tensorrt_engine import Engine, any_engines, engines_folder, open_engine

Float32Array: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Scores:
    """A row for each face, a column for each of the model's labels."""

    logits: Float32Array  # (n, k)
    probabilities: Float32Array  # (n, k), calibrated
    evidence: Float32Array | None = None  # (n, k, height, width): where each logit comes from


READS_INSTEAD: dict[Provider, str] = {
    "cpu": "The CPU reads the faces instead.",
    "cuda": "ONNX Runtime reads the faces on the GPU instead.",
    "tensorrt": "ONNX Runtime's TensorRT provider reads the faces instead, slow to start.",
}


class Classifier(Closing):
    """By ONNX Runtime on ``provider``, or by an ``engine`` of the same file, closed with it."""

    def __init__(
        self,
        artifact: Artifact,
        threads: int = 1,
        provider: Provider = "cpu",
        engine: Engine | None = None,
    ) -> None:
        self.artifact = artifact
        self.provider: Provider = provider if engine is None else "tensorrt"
        self._session = engine or open_session(
            artifact.path,
            threads,
            optimise=not needs_exact_arithmetic(artifact.card, provider),
            provider=provider,
        )
        self._outputs = [LOGITS, PROBABILITIES] + [EVIDENCE] * artifact.has_evidence

    def classify(self, faces: Image) -> Scores:
        """``faces``: (n, channels, size, size), as ``crop`` gives them; n may be 0."""
        self._check(faces)
        if len(faces) == 0:
            return self._nothing()
        return Scores(*self._session.run(self._outputs, {INPUT: faces}))

    def try_out(self) -> None:
        """A provider may load and still not run; one face of nothing shows it."""
        if (
            not isinstance(self._session, Engine)
            and self._session.get_providers()[0] != PROVIDERS[self.provider]
        ):
            raise RankotomError(f"ONNX Runtime cannot load its {self.provider} provider here.")
        crop = self.artifact.card.crop
        try:
            self.classify(np.zeros((1, crop.channels, crop.size, crop.size), np.uint8))
        except REFUSALS as error:
            words = str(error).strip().splitlines()[0]
            raise RankotomError(f"The {self.provider} provider does not run: {words}") from error

    def close(self) -> None:
        if isinstance(self._session, Engine):
            self._session.close()

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
    artifact: Artifact,
    wanted: Provider | Literal["auto"] = "auto",
    threads: int = 1,
    engines: Path | None = None,
) -> tuple[Classifier, str | None]:
    """On the GPU where that works, else on the CPU and why, in one line.

    An engine of ours that fits comes first. ONNX Runtime's own TensorRT provider only when TensorRT
    is asked for: it builds its engine at every start, for minutes.
    """
    here = providers_here()
    if wanted == "cuda" and wanted not in here:
        raise RankotomError(
            f"This ONNX Runtime has no {wanted} provider; it has {', '.join(here)}. "
            "For a GPU: pip uninstall onnxruntime, then pip install onnxruntime-gpu"
        )
    reasons: list[str] = []
    folder = engines_folder(engines)
    if wanted == "tensorrt" or (wanted == "auto" and any_engines(folder)):
        try:
            return _tried(Classifier(artifact, engine=open_engine(artifact, folder))), None
        except RankotomError as error:
            reasons.append(str(error))
    for provider in _worth_trying(wanted, artifact.card):
        if provider in here:
            try:
                classifier = _tried(Classifier(artifact, threads, provider))
            except RankotomError as error:
                if provider == wanted == "cuda":
                    raise
                reasons.append(str(error))
            else:
                return classifier, _one_line(reasons, provider)
    return Classifier(artifact, threads), _one_line(reasons, "cpu")


def _worth_trying(wanted: Provider | Literal["auto"], card: ModelCard) -> tuple[Provider, ...]:
    """Before the CPU, in this order; of itself it does not leave a CPU that the model is for."""
    if wanted == "tensorrt":
        return ("tensorrt", "cuda")
    if wanted == "cpu" or (wanted == "auto" and at_home(card) and not at_home(card, "cuda")):
        return ()
    return ("cuda",)


def _tried(classifier: Classifier) -> Classifier:
    try:
        classifier.try_out()
    except RankotomError:
        classifier.close()
        raise
    return classifier


def _one_line(reasons: list[str], provider: Provider) -> str | None:
    return " ".join([*reasons, READS_INSTEAD[provider]]) if reasons else None
