"""Opens the model and the reader, for every command that reads faces."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal

from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.live.reader import Reader
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.classifier import Classifier, fastest_classifier
from rankotom_edge.model.onnx_runtime import Provider
from rankotom_edge.model.own_calibration import SavedCalibration
from rankotom_edge.model.target import target_warning
from rankotom_edge.readings.error_budget import ErrorBudget

Reach = Literal["auto", "short", "full"]


@contextmanager
def open_classifier(
    model: str, provider: Provider | Literal["auto"] = "auto", threads: int = 1
) -> Iterator[tuple[Classifier, list[str]]]:
    """The classifier, and notes for the user: why no GPU is used, or that the model was made for
    another machine."""
    artifact = load_artifact(model)
    classifier, fallback = fastest_classifier(artifact, provider, threads)
    with classifier:
        warning = target_warning(artifact.card, classifier.provider)
        yield classifier, [note for note in (fallback, warning) if note is not None]


@contextmanager
def open_reader(
    classifier: Classifier,
    reach: Reach = "auto",
    budget: ErrorBudget | None = None,
    stills: bool = False,
    own: SavedCalibration | None = None,
) -> Iterator[Reader]:
    """With the detectors for ``reach``: auto has one for near faces and one for far ones."""
    with ExitStack() as stack:
        near = stack.enter_context(FaceDetector("full" if reach == "full" else "short"))
        far = stack.enter_context(FaceDetector("full")) if reach == "auto" else None
        yield Reader(
            near.detect,
            classifier,
            budget or ErrorBudget(),
            far=None if far is None else far.detect,
            stills=stills,
            own=own,
        )
