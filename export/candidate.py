"""A candidate on trial: asked about the judge's faces, weighed against its parent."""

import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import onnx

from calib.arrays import FloatArray
from calib.drift import Verdict
from export.artifact_writer import serialised
from export.gate import with_worth
from export.int8 import scheme_for
from export.judges import Faces, Harm, Judge, Judged
from export.predict import answers
from rankotom_edge.model.artifact import LOGITS, Artifact
from rankotom_edge.model.latency import Latencies, compare_latency
from rankotom_edge.model.machine import Target, this_machine
from rankotom_edge.model.onnx_runtime import InferenceSession, open_session


@dataclass(frozen=True, eq=False)
class Attempt:
    """A candidate with its temperature, and its logits on the choosing faces."""

    model: onnx.ModelProto
    logits: FloatArray
    temperature: float
    harm: Harm


@dataclass(frozen=True, eq=False)
class Weighed:
    """What the judge said, and whether the candidate is worth it."""

    judged: Judged
    verdict: Verdict  # of both
    size_ratio: float
    latencies: Latencies
    latency_judged: bool

    @property
    def answers_failed(self) -> bool:
        """Not only size or speed: layers in FP32 might help."""
        return not self.judged.verdict.passed


@dataclass(frozen=True, eq=False)
class Trial:
    parent: Artifact
    parent_model: onnx.ModelProto  # prepared
    judge: Judge
    precision: str
    target: Target
    allow_slower: bool

    @property
    def targets(self) -> tuple[Target, ...]:
        """FP16 is for GPUs; ONNX Runtime's CPU kernels would only convert it back."""
        return ("tensorrt",) if self.precision == "fp16" else scheme_for(self.target).targets

    @property
    def at_home(self) -> bool:
        """The candidate is asked for this machine, so its kernels and its speed count."""
        return self.precision == "int8" and this_machine() == self.target

    def attempt(self, model: onnx.ModelProto) -> Attempt:
        logits = self._asked(model, self.judge.choosing)
        temperature = self.judge.fit(logits)
        return Attempt(model, logits, temperature, self.judge.harm(logits, temperature))

    def weighed(self, attempt: Attempt) -> Weighed:
        logits = self._asked(attempt.model, self.judge.judging)
        judged = self.judge.judged(logits, attempt.temperature)
        # The card of the parent is as long as the candidate's own will be.
        size_ratio = len(serialised(attempt.model, self.parent.card)) / self.parent.bytes
        latencies = compare_latency(self._parent_session, self._session(attempt.model))
        judge_latency = self.at_home and not self.allow_slower
        return Weighed(
            judged=judged,
            verdict=with_worth(judged.verdict, size_ratio, latencies, judge_latency=judge_latency),
            size_ratio=size_ratio,
            latencies=latencies,
            latency_judged=judge_latency,
        )

    @cached_property
    def _parent_session(self) -> InferenceSession:
        return open_session(self.parent.path)

    def _session(self, model: onnx.ModelProto, threads: int = 1) -> InferenceSession:
        """By this machine's kernels if it is made for them, else in exact arithmetic."""
        exact = self.precision == "int8" and not self.at_home
        return open_session(model.SerializeToString(), threads, optimise=not exact)

    def _asked(self, model: onnx.ModelProto, faces: Faces) -> FloatArray:
        (logits,) = answers(self._session(model, os.cpu_count() or 1), faces, (LOGITS,))
        return logits.astype(np.float64)
