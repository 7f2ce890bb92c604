"""Probes of what reads a face: the detector, the models, what runs them, and all together."""

import shlex
import time
from pathlib import Path

import numpy as np

from calib.errors import RankotomError
from calib.reports.number_text import percent
from rankotom_edge.doctor.check import ONNX_RUNTIME, Finding, Probe
from rankotom_edge.doctor.software import recorded_hash
from rankotom_edge.model import embedded as models
from rankotom_edge.model import tensorrt_engine as engine
from rankotom_edge.model.artifact import EMBEDDED, embedded_models, load_artifact
from rankotom_edge.model.classifier import Classifier, Scores
from rankotom_edge.model.onnx_runtime import PROVIDERS, providers_here
from rankotom_edge.model.target import target_warning
from rankotom_edge.model.tensorrt_cache import engines_folder, engines_of

FACES = 4  # in a test batch
TOLERANCE = 1e-3  # of a sum of float32 probabilities. Chosen by eye
FRAMES = 90  # of the demo, three seconds, in which a face must be read. Chosen by eye


def detector(_: str) -> Finding:
    from rankotom_edge.faces.detector import FaceDetector
    from rankotom_edge.sources.demo import load_portrait

    portrait = load_portrait()
    with FaceDetector() as detector:
        started = time.perf_counter()
        faces = detector.detect(portrait)
        ms = 1000 * (time.perf_counter() - started)
    if not faces:
        return Finding(False, "finds no face on the demo's portrait")
    return Finding(True, f"finds the demo's face, score {faces[0].score:.2f}, in {ms:.1f} ms")


def providers(_: str) -> tuple[Probe, ...]:
    return tuple(
        Probe(
            f"onnxruntime {name}",
            f"{__name__}:provider",
            name,
            level="needed" if name == "cpu" else "optional",
            fix=ONNX_RUNTIME,
        )
        for name in providers_here()
    )


def provider(name: str) -> Finding:
    """Run an inference: that a provider is listed only says how ONNX Runtime was built."""
    chosen = next(known for known in PROVIDERS if known == name)
    with Classifier(load_artifact(models.FP32), provider=chosen) as classifier:
        classifier.check_runs()
        started = time.perf_counter()
        problem = probability_problem(_scores(classifier))
        ms = 1000 * (time.perf_counter() - started) / FACES
    if problem is not None:
        return Finding(False, f"{models.FP32} {problem}")
    return Finding(True, f"{models.FP32} in {ms:.1f} ms a face")


def model_files(_: str) -> Finding | tuple[Probe, ...]:
    found = embedded_models()
    if models.DEFAULT not in found:
        here = ", ".join(found) or "none"
        detail = f"{models.DEFAULT} is not in {EMBEDDED}; here: {here}"
        return Finding(False, detail, restore_command())
    return tuple(
        Probe(
            f"model {name}",
            f"{__name__}:model",
            name,
            level="needed" if name == models.DEFAULT else "optional",
            fix=restore_command(),
        )
        for name in sorted(found, key=lambda name: name != models.DEFAULT)
    )


def model(name: str) -> Finding:
    artifact = load_artifact(name)
    card = artifact.card
    with Classifier(artifact) as classifier:
        problem = probability_problem(_scores(classifier))
    if problem is not None:
        return Finding(False, problem)
    recorded = recorded_hash(artifact.path)
    if recorded is not None and recorded != artifact.sha256:
        return Finding(False, f"the file was changed since pip installed it ({artifact.path})")
    warning = target_warning(card)
    if name == models.DEFAULT and warning is not None:
        return Finding(False, warning)
    targets = " and ".join(card.targets) or "any machine"
    default = "the default, " if name == models.DEFAULT else ""
    integrity = "as installed" if recorded is not None else f"sha256 {artifact.sha256[:12]}"
    ece = percent(card.evaluation.metrics["ece"].value)
    return Finding(True, f"{default}{card.precision} for {targets}: runs, ECE {ece}, {integrity}")


def tensorrt(_: str) -> Finding:
    """Needs the module, a GPU and the engine of an embedded model; with all three, run it."""
    try:
        engine.load_tensorrt()
    except RankotomError as error:
        return Finding(False, str(error).removesuffix(engine.INSTALL).strip(), engine.INSTALL)
    device = engine.this_device()
    folder = engines_folder()
    # What ``export --tensorrt`` builds comes first; the CPUs' INT8 model cannot become an engine.
    known = [load_artifact(name) for name in (models.INT8_S8S8, models.FP32)]
    built = [artifact for artifact in known if engines_of(artifact, folder)]
    if not built:
        build = f"rankotom-edge export --tensorrt, then camera --model {models.INT8_S8S8}"
        return Finding(False, f"{device}; no engine of an embedded model in {folder}", build)
    artifact = built[0]
    with Classifier(artifact, engine=engine.open_engine(artifact, folder)) as classifier:
        problem = probability_problem(_scores(classifier))
    ran = f"the engine of {artifact.card.name} runs"
    return Finding(problem is None, f"{device}: {problem or ran}")


def demo(_: str) -> Finding:
    """Everything together, as in ``camera --source demo``, until the first reading."""
    from rankotom_edge.live.build import open_classifier, open_reader
    from rankotom_edge.sources import open_source

    with (
        open_classifier(models.DEFAULT) as (classifier, notes),
        open_reader(classifier) as reader,
        open_source("demo") as source,
    ):
        for _frame in range(FRAMES):
            frame = source.read(10.0)
            if frame is None:
                break
            for reading in reader.read(frame).readings:
                confidence = percent(reading.confidence, 0)
                words = f"{reader.model} reads {reading.top} at {confidence}, {classifier.provider}"
                return Finding(True, ". ".join([words, *notes]))
    return Finding(False, f"no face was read in {FRAMES} frames of the demo")


def restore_command(folder: Path = EMBEDDED) -> str:
    """The command that restores the model files."""
    root = folder.parents[2]
    if (root / ".git").exists():
        return f"git -C {shlex.quote(str(root))} checkout -- {folder.relative_to(root)}"
    return "pip install --force-reinstall --no-deps rankotom-edge"


def _scores(classifier: Classifier) -> Scores:
    crop = classifier.artifact.card.crop
    shape = (FACES, crop.channels, crop.size, crop.size)
    return classifier.classify(np.random.default_rng(0).integers(0, 256, shape, np.uint8))


def probability_problem(scores: Scores) -> str | None:
    sums = scores.probabilities.sum(axis=1)
    if np.all(np.abs(sums - 1) < TOLERANCE) and np.all(scores.probabilities >= 0):
        return None
    return f"gives no probabilities: they sum to {sums[0]:.3f} instead of 1"
