"""Classifies faces: crops in, calibrated probabilities out, by ONNX Runtime or TensorRT."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calib.arrays import SUM_TOLERANCE
from calib.errors import RankotomError
from rankotom_edge.closing import Closing
from rankotom_edge.frame import Image
from rankotom_edge.model.artifact import EVIDENCE, INPUT, LOGITS, PROBABILITIES, Artifact
from rankotom_edge.model.card import EXPORT_AGAIN, ModelCard
from rankotom_edge.model.onnx_runtime import (
    PROVIDERS,
    Provider,
    open_session,
    providers_here,
    run_session,
)
from rankotom_edge.model.target import is_made_for, needs_exact_arithmetic
from rankotom_edge.model.tensorrt_cache import engines_folder, has_engines
from rankotom_edge.model.tensorrt_engine import Engine, open_engine

Float32Array: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Scores:
    """One row per face, one column per label of the model."""

    logits: Float32Array  # (n, k)
    probabilities: Float32Array  # (n, k), calibrated
    evidence: Float32Array | None = None  # (n, k, height, width): where each logit comes from


FALLBACK: dict[Provider, str] = {
    "cpu": "The CPU reads the faces instead.",
    "cuda": "ONNX Runtime reads the faces on the GPU instead.",
    "tensorrt": "ONNX Runtime's TensorRT provider reads the faces instead, slow to start.",
}


class Classifier(Closing):
    """Runs on ONNX Runtime with ``provider``, or on a TensorRT ``engine`` of the same file, which
    is closed with it."""

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
        """``faces``: (n, channels, size, size), as ``faces.crop`` returns them; n may be 0."""
        self._check(faces)
        if len(faces) == 0:
            return self._empty_scores()
        scores = Scores(*run_session(self._session, self._outputs, {INPUT: faces}))
        shape = (len(faces), len(self.artifact.card.labels))
        if scores.logits.shape != shape or scores.probabilities.shape != shape:
            raise RankotomError(
                f"{self.artifact.card.name} answers {shape[0]} faces with probabilities of the "
                f"shape {scores.probabilities.shape}, not {shape}. Export it again."
            )
        off = np.abs(scores.probabilities.sum(axis=1) - 1).max()
        if scores.probabilities.min() < 0 or off > SUM_TOLERANCE:
            raise RankotomError(
                f"{self.artifact.card.name} answers with probabilities that are negative or do not "
                f"sum to 1. {EXPORT_AGAIN}"
            )
        return scores

    def check_runs(self) -> None:
        """Classify one black face: a provider may load and still not run."""
        if (
            not isinstance(self._session, Engine)
            and self._session.get_providers()[0] != PROVIDERS[self.provider]
        ):
            raise RankotomError(f"ONNX Runtime cannot load its {self.provider} provider here.")
        crop = self.artifact.card.crop
        try:
            self.classify(np.zeros((1, crop.channels, crop.size, crop.size), np.uint8))
        except RankotomError as error:
            if isinstance(self._session, Engine):
                raise
            raise RankotomError(f"The {self.provider} provider does not run: {error}") from error

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

    def _empty_scores(self) -> Scores:
        shapes = {output.name: output.shape[1:] for output in self._session.get_outputs()}
        return Scores(*(np.zeros((0, *shapes[name]), np.float32) for name in self._outputs))


def fastest_classifier(
    artifact: Artifact,
    wanted: Provider | Literal["auto"] = "auto",
    threads: int = 1,
    engines: Path | None = None,
) -> tuple[Classifier, str | None]:
    """A classifier on the GPU where that works, otherwise on the CPU; and in one line why the
    faster ones do not work, or None.

    A TensorRT engine in the cache comes first. ONNX Runtime's own TensorRT provider is used only on
    request: it builds its engine at every start, for minutes.
    """
    here = providers_here()
    if wanted == "cuda" and wanted not in here:
        raise RankotomError(
            f"This ONNX Runtime has no {wanted} provider; it has {', '.join(here)}. "
            "For a GPU: pip uninstall onnxruntime, then pip install onnxruntime-gpu"
        )
    reasons: list[str] = []
    folder = engines_folder(engines)
    if wanted == "tensorrt" or (wanted == "auto" and has_engines(folder)):
        try:
            return _check_or_close(Classifier(artifact, engine=open_engine(artifact, folder))), None
        except RankotomError as error:
            reasons.append(str(error))
    for provider in _gpu_providers(wanted, artifact.card):
        if provider in here:
            try:
                classifier = _check_or_close(Classifier(artifact, threads, provider))
            except RankotomError as error:
                if provider == wanted == "cuda":
                    raise
                reasons.append(str(error))
            else:
                return classifier, _fallback_words(reasons, provider)
    return Classifier(artifact, threads), _fallback_words(reasons, "cpu")


def _gpu_providers(wanted: Provider | Literal["auto"], card: ModelCard) -> tuple[Provider, ...]:
    """To try in this order before the CPU; none by default if the model is made for this CPU."""
    if wanted == "tensorrt":
        return ("tensorrt", "cuda")
    if wanted == "cpu" or (
        wanted == "auto" and is_made_for(card) and not is_made_for(card, "cuda")
    ):
        return ()
    return ("cuda",)


def _check_or_close(classifier: Classifier) -> Classifier:
    try:
        classifier.check_runs()
    except RankotomError:
        classifier.close()
        raise
    return classifier


def _fallback_words(reasons: list[str], provider: Provider) -> str | None:
    return " ".join([*reasons, FALLBACK[provider]]) if reasons else None
