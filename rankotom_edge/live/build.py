"""Opens the model and the reader, for every command that reads faces."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Literal

from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.faces.second_pass import Detect
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


@dataclass(frozen=True)
class Detectors:
    near: Detect
    far: Detect | None  # for faces that are too far away for ``near``


@contextmanager
def open_detectors(reach: Reach = "auto") -> Iterator[Detectors]:
    """auto has one for near faces and one for far ones."""
    with ExitStack() as stack:
        near = stack.enter_context(FaceDetector("full" if reach == "full" else "short"))
        far = stack.enter_context(FaceDetector("full")) if reach == "auto" else None
        yield Detectors(near.detect, None if far is None else far.detect)


@contextmanager
def open_reader(
    classifier: Classifier,
    reach: Reach = "auto",
    budget: ErrorBudget | None = None,
    stills: bool = False,
    own: SavedCalibration | None = None,
) -> Iterator[Reader]:
    with open_detectors(reach) as detectors:
        yield make_reader(classifier, detectors, budget, stills, own)


def make_reader(
    classifier: Classifier,
    detectors: Detectors,
    budget: ErrorBudget | None = None,
    stills: bool = False,
    own: SavedCalibration | None = None,
) -> Reader:
    """For one source: it remembers the faces."""
    return Reader(
        detectors.near,
        classifier,
        budget or ErrorBudget(),
        far=detectors.far,
        stills=stills,
        own=own,
    )
