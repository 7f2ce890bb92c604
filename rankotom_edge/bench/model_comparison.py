"""Two models on the same faces: milliseconds per call, by batch size and thread count."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rankotom_edge.model.artifact import INPUT, PROBABILITIES, Artifact
from rankotom_edge.model.latency import interleaved_medians
from rankotom_edge.model.onnx_runtime import open_session
from rankotom_edge.model.target import needs_exact_arithmetic

BATCHES = (1, 4)  # faces per call
ROUNDS = 60  # two models, two batch sizes and three thread counts at 5 ms a call: four seconds
# Every thread count up to this one, then powers of two: each count to 64 would take minutes.
EVERY_COUNT = 4


@dataclass(frozen=True)
class Comparison:
    """Median milliseconds per call."""

    faces: int  # per call
    threads: int
    model: float
    against: float

    @property
    def speedup(self) -> float:
        """2 means twice as fast as the other model."""
        return self.against / self.model

    def as_json(self) -> dict[str, object]:
        return {
            "faces": self.faces,
            "threads": self.threads,
            "model_ms": round(self.model, 3),
            "against_ms": round(self.against, 3),
            "speedup": round(self.speedup, 3),
        }


def compare_models(
    model: Artifact, against: Artifact, threads: Sequence[int], rounds: int = ROUNDS
) -> tuple[Comparison, ...]:
    """On the CPU. Calls are interleaved, so a busy machine slows both models alike."""
    plan = [(faces, count) for count in threads for faces in BATCHES]
    calls = [
        _call(artifact, faces, count) for faces, count in plan for artifact in (model, against)
    ]
    medians = iter(interleaved_medians(calls, rounds))
    return tuple(
        Comparison(faces, count, model=next(medians), against=next(medians))
        for faces, count in plan
    )


def thread_counts(cores: int) -> tuple[int, ...]:
    """The counts to compare models with, up to the number of cores."""
    powers = [2**power for power in range(3, cores.bit_length())]
    return tuple(sorted({*range(1, min(cores, EVERY_COUNT) + 1), *powers, cores}))


def usable_cores() -> int:
    """Cores that this process may use; a container often has fewer than the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _call(artifact: Artifact, faces: int, threads: int) -> Callable[[], object]:
    crop = artifact.card.crop
    exact = needs_exact_arithmetic(artifact.card)
    session = open_session(artifact.path, threads, optimise=not exact)
    shape = (faces, crop.channels, crop.size, crop.size)
    noise = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    return lambda: session.run([PROBABILITIES], {INPUT: noise})
