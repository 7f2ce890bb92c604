"""The gate: a smaller model must predict as its parent does, be smaller, and not be slower."""

import os
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import onnx

from calib.arrays import FloatArray
from calib.limits import Verdict
from export.artifact_writer import serialize
from export.faces import Faces
from export.int8 import scheme_for
from export.judges import Degradation, Judge, Judgement
from export.predict import run_model
from rankotom_edge.model.artifact import LOGITS, Artifact
from rankotom_edge.model.latency import Latencies, compare_latency
from rankotom_edge.model.onnx_runtime import InferenceSession, open_session
from rankotom_edge.model.target import Target, this_machine


@dataclass(frozen=True, eq=False)
class Candidate:
    """A smaller graph, its temperature, and its degradation on the calibration faces."""

    model: onnx.ModelProto
    temperature: float
    degradation: Degradation


@dataclass(frozen=True, eq=False)
class GateResult:
    judgement: Judgement  # of the predictions alone
    verdict: Verdict  # of predictions, size and speed
    size_ratio: float
    latencies: Latencies
    latency_judged: bool

    @property
    def predictions_failed(self) -> bool:
        """Restoring layers to FP32 may mend predictions, but neither size nor speed."""
        return not self.judgement.verdict.passed


@dataclass(frozen=True, eq=False)
class Gate:
    parent: Artifact
    parent_model: onnx.ModelProto  # prepared for quantization
    judge: Judge
    precision: str
    target: Target
    allow_slower: bool

    @property
    def targets(self) -> tuple[Target, ...]:
        """FP16 is for GPUs: ONNX Runtime's CPU kernels would convert it back to FP32."""
        return ("tensorrt",) if self.precision == "fp16" else scheme_for(self.target).targets

    @property
    def targets_this_machine(self) -> bool:
        """Only then do this machine's kernels and speed count."""
        return self.precision == "int8" and this_machine() in self.targets

    def calibrate(self, model: onnx.ModelProto) -> Candidate:
        logits = self._logits(model, self.judge.calibration)
        temperature = self.judge.fit_temperature(logits)
        return Candidate(model, temperature, self.judge.degradation(logits, temperature))

    def check(self, candidate: Candidate) -> GateResult:
        logits = self._logits(candidate.model, self.judge.held_out)
        judgement = self.judge.judge(logits, candidate.temperature)
        # The parent's card is about as long as the candidate's will be.
        size_ratio = len(serialize(candidate.model, self.parent.card)) / self.parent.bytes
        latencies = compare_latency(self._parent_session, self._session(candidate.model))
        judge_latency = self.targets_this_machine and not self.allow_slower
        return GateResult(
            judgement=judgement,
            verdict=add_size_and_speed(
                judgement.verdict, size_ratio, latencies, judge_latency=judge_latency
            ),
            size_ratio=size_ratio,
            latencies=latencies,
            latency_judged=judge_latency,
        )

    @cached_property
    def _parent_session(self) -> InferenceSession:
        return open_session(self.parent.path)

    def _session(self, model: onnx.ModelProto, threads: int = 1) -> InferenceSession:
        """INT8 for another machine is computed exactly, without this machine's integer kernels."""
        exact = self.precision == "int8" and not self.targets_this_machine
        return open_session(model.SerializeToString(), threads, optimise=not exact)

    def _logits(self, model: onnx.ModelProto, faces: Faces) -> FloatArray:
        (logits,) = run_model(self._session(model, os.cpu_count() or 1), faces.pixels, (LOGITS,))
        return logits.astype(np.float64)


def add_size_and_speed(
    verdict: Verdict, size_ratio: float, latencies: Latencies, *, judge_latency: bool
) -> Verdict:
    reasons = list(verdict.reasons)
    if size_ratio >= 1:
        reasons.append(f"It is not smaller: {size_ratio:.0%} of its parent's size.")
    if judge_latency and latencies.ratio > 1:
        reasons.append(
            f"It is slower than its parent: {latencies.candidate:.2f} ms against "
            f"{latencies.reference:.2f} ms a face on this machine. --allow-slower accepts that."
        )
    return replace(verdict, passed=not reasons, reasons=tuple(reasons))
