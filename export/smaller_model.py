"""Make a smaller model file from an FP32 one, and write it if the gate passes; needs no torch."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import onnx

from calib.errors import RankotomError
from calib.temperature import at_bound
from export.artifact_writer import serialize, write_artifact
from export.fp16 import check_activations_fit, convert_to_fp16
from export.gate import Gate
from export.int8 import find_layers, prepare, quantizable_layers
from export.judges import Judge, Judgement
from export.search import JUDGING, SearchResult, int8_steps, search_int8
from export.steps import Steps
from export.temporary_folder import temporary_folder
from export.tensorrt.graph_rules import tensorrt_problems
from rankotom_edge import __version__
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.card import ModelCard
from rankotom_edge.model.target import Target

Precision = Literal["int8", "fp16"]
RANGES_FP16 = "looking for numbers that are too large for FP16"
CALIBRATING_FP16 = "calibrating the FP16 model"


@dataclass(frozen=True, eq=False)
class SmallerModel:
    parent: Artifact
    artifact: Artifact | None  # None if the gate rejected it and it was not to be kept
    judgement: Judgement
    search: SearchResult
    card: ModelCard
    output: Path  # where it would be if it passed

    @property
    def passed(self) -> bool:
        return self.judgement.verdict.passed

    @property
    def caveat(self) -> str | None:
        """Why its confidence is not to be trusted."""
        if not at_bound(self.card.temperature):
            return None
        bound = f"{self.card.temperature:g}"
        return f"it is not calibrated: its temperature ran into its bound of {bound}."

    def as_json(self) -> dict[str, object]:
        search, latencies = self.search, self.search.gate_result.latencies
        return {
            "file": None if self.artifact is None else str(self.artifact.path),
            "parent": self.parent.summary(),
            "precision": self.card.precision,
            "targets": list(self.card.targets),
            "calibration": search.calibration,
            "tried": [each.as_json() for each in search.calibrations],
            "layers": [each.as_json() for each in search.layers],
            "layers_in_fp32": list(self.card.layers_in_fp32),
            "restored": sorted(search.restored),
            "judgements": search.judgements,
            "latency_ms": {**asdict(latencies), "judged": search.gate_result.latency_judged},
        }


def make_smaller_model(
    parent: Artifact,
    judge: Judge,
    precision: Precision,
    target: Target,
    output: Path,
    *,
    allow_slower: bool = False,
    keep_rejected: bool = False,
    steps: Steps | None = None,
) -> SmallerModel:
    """``output`` is written only if the gate passes; ``keep_rejected`` writes a rejected model
    next to it."""
    check_parent(parent, output)
    with temporary_folder():
        model = prepare(onnx.load(parent.path))
        gate = Gate(parent, model, judge, precision, target, allow_slower=allow_slower)
        make = _make_fp16 if precision == "fp16" else search_int8
        search = make(gate, steps or Steps())
    _check_tensorrt_rules(search.candidate.model, gate.targets)
    path = output if search.passed else rejected_path(output)
    card = _make_card(gate, search, path.stem)
    artifact = None
    if search.passed or keep_rejected:
        artifact = write_artifact(search.candidate.model, card, path)
    judgement = _complete_judgement(search, card, parent, artifact)
    return SmallerModel(parent, artifact, judgement, search, card, output)


def check_parent(parent: Artifact, output: Path) -> None:
    if parent.card.precision != "fp32":
        raise RankotomError(
            f"{parent.card.name} is {parent.card.precision} already; give its FP32 parent."
        )
    if parent.path.resolve() in (output.resolve(), rejected_path(output).resolve()):
        raise RankotomError(
            f"{output} (or {rejected_path(output).name}, if the gate rejects it) is the FP32 model "
            "itself; choose another --output."
        )


def rejected_path(output: Path) -> Path:
    return output.with_name(f"{output.stem}.rejected{output.suffix}")


def planned_steps(precision: Precision) -> dict[str, float]:
    """Each with its planned seconds."""
    return (
        int8_steps() if precision == "int8" else {RANGES_FP16: 3, CALIBRATING_FP16: 5, JUDGING: 10}
    )


def _make_fp16(gate: Gate, steps: Steps) -> SearchResult:
    model = convert_to_fp16(gate.parent_model)
    steps.begin(RANGES_FP16)
    check_activations_fit(gate.parent_model, gate.judge.calibration.pixels)
    steps.begin(CALIBRATING_FP16)
    candidate = gate.calibrate(model)
    steps.begin(JUDGING)
    return SearchResult(candidate, gate.check(candidate))


def _check_tensorrt_rules(model: onnx.ModelProto, targets: tuple[Target, ...]) -> None:
    problems = tensorrt_problems(model) if "tensorrt" in targets else ()
    if problems:
        raise RankotomError(
            f"TensorRT could not build this graph: {problems[0]} Nothing was written. This is a "
            "bug of rankotom-edge; the onnxruntime version of constraints.txt may avoid it."
        )


def _make_card(gate: Gate, search: SearchResult, name: str) -> ModelCard:
    """Without labels the evaluation stays the parent's, and ``ece_checked`` is false."""
    parent = gate.parent
    calibrated_on, judged_on = gate.judge.calibration.used, gate.judge.held_out.used
    drift = search.gate_result.judgement.drift
    quantization: dict[str, Any] = {
        "calibration": search.calibration,
        "layers_in_fp32": _layers_in_fp32(gate, search),
        "judged_on": judged_on.as_json(),
        "ece_checked": drift is not None,
    }
    card = replace(
        parent.card,
        name=name,
        temperature=search.candidate.temperature,
        precision=gate.precision,
        parent=parent.sha256,
        # Without labels the temperature matches the parent's probabilities, so it also rests on
        # the faces that the parent was calibrated on.
        calibrated_on=(calibrated_on,) if drift else (*parent.card.calibrated_on, calibrated_on),
        created_by=f"rankotom-edge {__version__}",
        targets=gate.targets,
        quantization=quantization,
    )
    if drift is None:
        # A guarantee needs labels.
        return replace(card, evaluation=replace(card.evaluation, thresholds=(), set_masses=()))
    quantization["change"] = {
        **{name: round(drift.change[name], 6) for name in ("accuracy", "ece", "aece", "nll")},
        "flips": round(drift.flips.rate, 6),
    }
    return replace(card, measured_on=judged_on, evaluation=drift.candidate)


def _layers_in_fp32(gate: Gate, search: SearchResult) -> list[str]:
    """Layers that are never quantized, and those that the search restored; none in FP16."""
    if gate.precision != "int8":
        return []
    quantizable = quantizable_layers(gate.parent_model)
    return [
        layer
        for layer in find_layers(gate.parent_model)
        if layer in search.restored or layer not in quantizable
    ]


def _complete_judgement(
    search: SearchResult, card: ModelCard, parent: Artifact, artifact: Artifact | None
) -> Judgement:
    """The gate's verdict, and the drift with what its report says about the two files."""
    result = search.gate_result
    judgement = replace(result.judgement, verdict=result.verdict)
    if judgement.drift is None:
        return judgement
    content = serialize(search.candidate.model, card)
    summary = (
        {"name": card.name, "precision": card.precision, "bytes": len(content)}
        if artifact is None
        else artifact.summary()
    )
    drift = replace(
        judgement.drift,
        reference=replace(
            judgement.drift.reference, model=parent.summary(), temperature=parent.card.temperature
        ),
        candidate=replace(
            judgement.drift.candidate,
            model={**summary, "layers_in_fp32": list(card.layers_in_fp32)},
            temperature=card.temperature,
        ),
        size_ratio=len(content) / parent.bytes,
        latency_ms=(result.latencies.reference, result.latencies.candidate),
    )
    return replace(judgement, drift=drift)
