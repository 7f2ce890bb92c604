"""From an FP32 model file to a smaller one that the gate lets through; needs no torch."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx

from calib.drift import Drift
from calib.errors import RankotomError
from calib.temperature import at_bound
from export.artifact_writer import figures_of, serialised, write_artifact
from export.candidate import Attempt, Trial, Weighed
from export.fp16 import halved
from export.gate import Kept, LayerHarm, blame, fewest_restored
from export.int8 import (
    CALIBRATION_FACES,
    CALIBRATIONS,
    S8S8,
    Calibration,
    activation_ranges,
    layers,
    prepared,
    quantizable,
    quantized,
    scheme_for,
)
from export.judges import Faces, Harm, Judge, Judged
from export.temporary_folder import scratch
from export.tensorrt.graph_rules import tensorrt_problems
from rankotom_edge import __version__
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.card import ModelCard
from rankotom_edge.model.machine import Target

Precision = Literal["int8", "fp16"]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Tried:
    """A way to calibrate and what came of it on the choosing faces."""

    calibration: Calibration
    temperature: float
    harm: Harm

    def as_json(self) -> dict[str, object]:
        return {
            "calibration": self.calibration,
            "temperature": self.temperature,
            "nll": self.harm.nll,
            "ece": self.harm.ece,
        }


@dataclass(frozen=True, eq=False)
class Made:
    """The best that was found, and how."""

    attempt: Attempt
    weighed: Weighed
    tried: tuple[Tried, ...] = ()
    blamed: tuple[LayerHarm, ...] = ()  # none where the gate said yes at once
    restored: Kept = frozenset()
    judgements: int = 1

    @property
    def calibration(self) -> Calibration | None:
        best = min(self.tried, key=lambda each: each.harm.nll, default=None)
        return None if best is None else best.calibration


@dataclass(frozen=True, eq=False)
class Shrunk:
    parent: Artifact
    artifact: Artifact | None  # None where the gate said no and the candidate was not to be kept
    judged: Judged
    made: Made
    card: ModelCard
    output: Path  # where it was to be

    @property
    def passed(self) -> bool:
        return self.judged.verdict.passed

    def as_json(self) -> dict[str, object]:
        latencies = self.made.weighed.latencies
        return {
            "file": None if self.artifact is None else str(self.artifact.path),
            "parent": self.parent.summary(),
            "precision": self.card.precision,
            "targets": list(self.card.targets),
            "calibration": self.made.calibration,
            "tried": [each.as_json() for each in self.made.tried],
            "layers": [each.as_json() for each in self.made.blamed],
            "layers_in_fp32": list(self.card.layers_in_fp32),
            "restored": sorted(self.made.restored),
            "judgements": self.made.judgements,
            "latency_ms": {
                "reference": latencies.reference,
                "candidate": latencies.candidate,
                "judged": self.made.weighed.latency_judged,
            },
        }


def shrink(
    parent: Artifact,
    judge: Judge,
    precision: Precision,
    target: Target,
    output: Path,
    *,
    allow_slower: bool = False,
    keep_rejected: bool = False,
    say: Say = lambda words: None,
) -> Shrunk:
    """The file is at ``output`` only if the gate says yes; a rejected one is beside it, if kept."""
    check_parent(parent, output)
    say("preparing the graph")
    with scratch():
        model = prepared(onnx.load(parent.path))
        trial = Trial(parent, model, judge, precision, target, allow_slower=allow_slower)
        made = as_fp16(trial, say) if precision == "fp16" else as_int8(trial, say)
    check_rules(made.attempt.model, trial.targets)
    place = output if made.weighed.verdict.passed else rejected_path(output)
    card = card_of(parent, trial, made, place.stem)
    artifact = None
    if made.weighed.verdict.passed or keep_rejected:
        artifact = write_artifact(made.attempt.model, card, place)
    judged = described(made, card, parent, artifact)
    return Shrunk(parent, artifact, judged, made, card, output)


def check_parent(parent: Artifact, output: Path) -> None:
    if parent.card.precision != "fp32":
        raise RankotomError(
            f"{parent.card.name} is {parent.card.precision} already; give its FP32 parent."
        )
    if parent.path.resolve() in (output.resolve(), rejected_path(output).resolve()):
        raise RankotomError(
            f"{output} (or, turned down, {rejected_path(output).name}) is the FP32 model itself; "
            "choose another --output."
        )


def as_fp16(trial: Trial, say: Say) -> Made:
    model = halved(trial.parent_model)
    say("looking for numbers that are too large for FP16")
    check_fits_half(trial.parent_model, spread(trial.judge.choosing, CALIBRATION_FACES))
    say("asking the FP16 model")
    attempt = trial.attempt(model)
    say("judging")
    return Made(attempt, trial.weighed(attempt))


def check_fits_half(model: onnx.ModelProto, faces: Faces) -> None:
    """A CPU computes FP16's graph in FP32, so that the gate would not see a GPU's overflow."""
    largest, tensor = max(
        (float(np.abs(np.array(span.range_value)).max()), name)
        for name, span in activation_ranges(model, faces, "minmax", S8S8).items()
    )
    if largest > np.finfo(np.float16).max / 2:  # other faces may reach further
        raise RankotomError(
            f"{tensor} reaches {largest:,.0f} on these faces, too near to what FP16 can hold "
            f"({np.finfo(np.float16).max:,.0f}). Quantize the model to INT8 instead."
        )


def as_int8(trial: Trial, say: Say) -> Made:
    """The best calibration, judged; where the gate says no, with the guilty layers in FP32."""
    model, scheme = trial.parent_model, scheme_for(trial.target)
    faces = spread(trial.judge.choosing, CALIBRATION_FACES)
    tried: list[Tried] = []
    attempts = []
    for calibration in CALIBRATIONS:
        say(f"calibrating: {calibration}")
        ranges = activation_ranges(model, faces, calibration, scheme)
        attempt = trial.attempt(quantized(model, ranges, scheme, frozenset()))
        tried.append(Tried(calibration, attempt.temperature, attempt.harm))
        attempts.append((attempt, ranges))
    attempt, ranges = min(attempts, key=lambda each: each[0].harm.nll)
    say("judging")
    first = Made(attempt, trial.weighed(attempt), tuple(tried))
    if first.weighed.verdict.passed or not first.weighed.answers_failed:
        return first

    names = list(quantizable(model))

    @cache
    def with_layers_in_fp32(kept: Kept) -> Attempt:
        return trial.attempt(quantized(model, ranges, scheme, kept))

    def harm_of(kept: Kept) -> Harm:
        (alone,) = frozenset(names) - kept
        say(f"which layer is to blame: {alone} ({names.index(alone) + 1} of {len(names)})")
        return with_layers_in_fp32(kept).harm

    blamed = blame(names, harm_of)
    judged = [replace(first, blamed=blamed)]

    def passes(kept: Kept) -> bool:
        say(f"judging with {', '.join(sorted(kept))} in FP32")
        attempt = with_layers_in_fp32(kept)
        made = replace(judged[0], attempt=attempt, weighed=trial.weighed(attempt), restored=kept)
        judged.append(made)
        return made.weighed.verdict.passed

    fewest = fewest_restored([each.layer for each in blamed], passes)
    passed = (made for made in judged if made.restored == fewest)
    return replace(next(passed, min(judged, key=how_bad)), judgements=len(judged))


def how_bad(made: Made) -> tuple[int, float]:
    """Reasons against it, then harm: the least is the best that was found."""
    return len(made.weighed.verdict.reasons), made.attempt.harm.nll


def check_rules(model: onnx.ModelProto, targets: tuple[Target, ...]) -> None:
    problems = tensorrt_problems(model) if "tensorrt" in targets else ()
    if problems:
        raise RankotomError(
            f"The graph would not build with TensorRT: {problems[0]} Nothing was written; this is "
            "ours to mend, or try the onnxruntime of constraints.txt."
        )


def card_of(parent: Artifact, trial: Trial, made: Made, name: str) -> ModelCard:
    """Without labels the figures stay the parent's, and the card says that they are."""
    chosen_on, judged_on = trial.judge.used
    drift = made.weighed.judged.drift
    quantization: dict[str, Any] = {
        "calibration": made.calibration,
        "layers_in_fp32": layers_in_fp32(trial, made),
        "judged_on": judged_on.as_json(),
        "ece_checked": drift is not None,
    }
    card = replace(
        parent.card,
        name=name,
        temperature=made.attempt.temperature,
        precision=trial.precision,
        parent=parent.sha256,
        # Matched to the parent's answers, its temperature rests on the parent's faces as well.
        calibrated_on=(chosen_on,) if drift else (*parent.card.calibrated_on, chosen_on),
        created_by=f"rankotom-edge {__version__}",
        targets=trial.targets,
        quantization=quantization,
    )
    if drift is None:
        return card
    quantization["change"] = {
        **{name: round(drift.change[name], 6) for name in ("accuracy", "ece", "aece", "nll")},
        "flips": round(drift.flips.rate, 6),
    }
    return replace(card, measured_on=judged_on, figures=figures_of(drift.candidate))


def layers_in_fp32(trial: Trial, made: Made) -> list[str]:
    """Those that are never quantized, and those that the gate restored; none where all are FP16."""
    if trial.precision != "int8":
        return []
    model = trial.parent_model
    return [
        layer
        for layer in layers(model)
        if layer in made.restored or layer not in quantizable(model)
    ]


def described(made: Made, card: ModelCard, parent: Artifact, artifact: Artifact | None) -> Judged:
    """The verdict of the gate, and the drift with all that its report says of the two models."""
    weighed = made.weighed
    judged = replace(weighed.judged, verdict=weighed.verdict)
    if judged.drift is None:
        return judged
    content = serialised(made.attempt.model, card)
    summary = (
        {"name": card.name, "precision": card.precision, "bytes": len(content)}
        if artifact is None
        else artifact.summary()
    )
    drift: Drift = replace(
        judged.drift,
        reference=replace(
            judged.drift.reference, model=parent.summary(), temperature=parent.card.temperature
        ),
        candidate=replace(
            judged.drift.candidate,
            model={**summary, "layers_in_fp32": list(card.layers_in_fp32)},
            temperature=card.temperature,
        ),
        size_ratio=len(content) / parent.bytes,
        latency_ms=(weighed.latencies.reference, weighed.latencies.candidate),
    )
    return replace(judged, drift=drift)


def uncalibrated(shrunk: Shrunk) -> str | None:
    if not at_bound(shrunk.card.temperature):
        return None
    return (
        f"its temperature ran into its bound of {shrunk.card.temperature:g}, so it is not "
        "calibrated."
    )


def rejected_path(output: Path) -> Path:
    return output.with_name(f"{output.stem}.rejected{output.suffix}")


def spread(faces: Faces, count: int) -> Faces:
    """So many, from all over: a data set is often sorted."""
    if len(faces) <= count:
        return faces
    chosen: Faces = faces[np.linspace(0, len(faces) - 1, count).round().astype(np.int64)]
    return chosen
