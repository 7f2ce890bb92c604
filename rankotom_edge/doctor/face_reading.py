"""What reads a face: the detector, the model files, what runs them, and all of it together."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

import numpy as np

from calib.errors import RankotomError
from calib.reports.number_text import percent
from rankotom_edge.doctor.check import ONNX_RUNTIME, Finding, Trial
from rankotom_edge.doctor.software import recorded_hash
from rankotom_edge.model import embedded as models
from rankotom_edge.model import tensorrt_engine as engine
from rankotom_edge.model.artifact import EMBEDDED, embedded_models, load_artifact
from rankotom_edge.model.classifier import Classifier, Scores, fastest_classifier
from rankotom_edge.model.onnx_runtime import PROVIDERS, providers_here
from rankotom_edge.model.target import target_warning

TRIED_FACES = 4
CLOSE_TO_ONE = 1e-3  # float32, eight labels
FRAMES = 90  # of the demo in which a face must have been read: three seconds; it takes four frames


def detector(_: str) -> Finding:
    from rankotom_edge.faces.detector import FaceDetector
    from rankotom_edge.sources.demo import load_portrait

    portrait = load_portrait()
    with FaceDetector() as detector:
        started = time.perf_counter()
        faces = detector.detect(portrait)
        spent = 1000 * (time.perf_counter() - started)
    if not faces:
        return Finding(False, "finds no face on the demo's portrait")
    return Finding(True, f"finds the demo's face, score {faces[0].score:.2f}, in {spent:.1f} ms")


def providers(_: str) -> tuple[Trial, ...]:
    return tuple(
        Trial(
            f"onnxruntime {name}",
            f"{__name__}:provider",
            name,
            level="needed" if name == "cpu" else "optional",
            fix=ONNX_RUNTIME,
        )
        for name in providers_here()
    )


def provider(named: str) -> Finding:
    """An inference: that a provider is listed says how ONNX Runtime was built, no more."""
    chosen = next(name for name in PROVIDERS if name == named)
    with Classifier(load_artifact(models.FP32), provider=chosen) as classifier:
        classifier.try_out()
        started = time.perf_counter()
        problem = _not_probabilities(_scores(classifier))
        spent = 1000 * (time.perf_counter() - started) / TRIED_FACES
    if problem is not None:
        return Finding(False, f"{models.FP32} {problem}")
    return Finding(True, f"{models.FP32} in {spent:.1f} ms a face")


def model_files(_: str) -> Finding | tuple[Trial, ...]:
    found = embedded_models()
    if models.DEFAULT not in found:
        here = ", ".join(found) or "none"
        return Finding(False, f"{models.DEFAULT} is not in {EMBEDDED}; here: {here}", renewal())
    return tuple(
        Trial(
            f"model {name}",
            f"{__name__}:model",
            name,
            level="needed" if name == models.DEFAULT else "optional",
            fix=renewal(),
        )
        for name in sorted(found, key=lambda name: name != models.DEFAULT)
    )


def model(named: str) -> Finding:
    artifact = load_artifact(named)
    card = artifact.card
    with Classifier(artifact) as classifier:
        problem = _not_probabilities(_scores(classifier))
    if problem is not None:
        return Finding(False, problem)
    noted = recorded_hash(artifact.path)
    if noted is not None and noted != artifact.sha256:
        return Finding(False, f"the file was changed since pip installed it ({artifact.path})")
    warning = target_warning(card)
    if named == models.DEFAULT and warning is not None:
        return Finding(False, warning)
    for_whom = " and ".join(card.targets) or "any machine"
    default = "the default, " if named == models.DEFAULT else ""
    whole = "as installed" if noted is not None else f"sha256 {artifact.sha256[:12]}"
    return Finding(
        True,
        f"{default}{card.precision} for {for_whom}: runs, ECE {percent(card.evaluation.metrics['ece'].value)}, "
        f"{whole}",
    )


def tensorrt(_: str) -> Finding:
    """The module, the GPU and an engine of an embedded model: with all three, an inference."""
    try:
        engine.load_tensorrt()
    except RankotomError as error:
        return Finding(False, str(error).removesuffix(engine.INSTALL).strip(), engine.INSTALL)
    device = engine.this_device()
    folder = engine.engines_folder()
    # What ``camera`` uses of itself comes first; of the x86 model no engine can be built.
    known = [load_artifact(name) for name in (models.FP32, models.INT8_S8S8)]
    built = [artifact for artifact in known if engine.engines_of(artifact, folder)]
    if not built:
        build = f"rankotom-edge export --tensorrt {models.FP32}"
        return Finding(False, f"{device}; no engine of an embedded model in {folder}", build)
    artifact = built[0]
    with Classifier(artifact, engine=engine.open_engine(artifact, folder)) as classifier:
        problem = _not_probabilities(_scores(classifier))
    ran = f"the engine of {artifact.card.name} runs"
    return Finding(problem is None, f"{device}: {problem or ran}")


def demo(_: str) -> Finding:
    """All of it, as ``camera --source demo`` does: the first reading of the portrait."""
    from rankotom_edge.live.build import open_classifier, open_reader
    from rankotom_edge.sources import open_source

    with (
        open_source("demo") as source,
        open_classifier(models.DEFAULT) as (classifier, notes),
        open_reader(classifier, reach="short") as reader,
    ):
        for _frame in range(FRAMES):
            frame = source.read(10.0)
            if frame is None:
                break
            for reading in reader.read(frame).readings:
                words = f"{reading.top} at {percent(reading.confidence, 0)}, {classifier.provider}"
                note = f". {' '.join(notes)}" if notes else ""
                return Finding(True, f"{reader.model} reads {words}{note}")
    return Finding(False, f"no face was read in {FRAMES} frames of the demo")


def renewal(folder: Path = EMBEDDED) -> str:
    """What brings the model files back."""
    if (folder.parents[1] / ".git").exists():
        return f"git -C {shlex.quote(str(folder.parents[1]))} checkout -- rankotom_edge/models"
    return "pip install --force-reinstall --no-deps rankotom-edge"


def _scores(classifier: Classifier) -> Scores:
    crop = classifier.artifact.card.crop
    shape = (TRIED_FACES, crop.channels, crop.size, crop.size)
    return classifier.classify(np.random.default_rng(0).integers(0, 256, shape, np.uint8))


def _not_probabilities(scores: Scores) -> str | None:
    sums = scores.probabilities.sum(axis=1)
    if np.all(np.abs(sums - 1) < CLOSE_TO_ONE) and np.all(scores.probabilities >= 0):
        return None
    return f"gives no probabilities: they sum to {sums[0]:.3f}, not to 1"
