"""How long a model takes for one face, beside another: in turns, and by what its thread computes.

By the clock on the wall a busy machine would flatter the quicker one: a call of 4 ms is interrupted
where one of 1 ms is not (12.7 times as fast was printed for 3.0).
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rankotom_edge.model.artifact import INPUT, PROBABILITIES, Artifact
from rankotom_edge.model.onnx_runtime import InferenceSession, open_session
from rankotom_edge.model.target import needs_exact_arithmetic

WARM_UP = 5
ROUNDS = 100


@dataclass(frozen=True)
class Latencies:
    """Medians of one face at a time, on one thread, in milliseconds that it computed."""

    reference: float
    candidate: float

    @property
    def ratio(self) -> float:
        """0.5 is half the time."""
        return self.candidate / self.reference


def compare_latency(
    reference: InferenceSession, candidate: InferenceSession, rounds: int = ROUNDS
) -> Latencies:
    """On a face of nothing, at the size that each takes; sessions of one thread, the caller's."""

    def asked(session: InferenceSession) -> Callable[[], object]:
        (given,) = session.get_inputs()
        face = np.zeros((1, *given.shape[1:]), np.uint8)
        return lambda: session.run([PROBABILITIES], {INPUT: face})

    calls = [asked(reference), asked(candidate)]
    return Latencies(*medians_in_turn(calls, rounds, clock=time.thread_time))


def medians_in_turn(
    calls: Sequence[Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Milliseconds of each; every round calls each of them once."""
    spent: list[list[float]] = [[] for _ in calls]
    for turn in range(WARM_UP + rounds):
        for times, call in zip(spent, calls, strict=True):
            started = clock()
            call()
            took = clock() - started
            if turn >= WARM_UP:
                times.append(1000 * took)
    return [statistics.median(times) for times in spent]


def latency_of_one_face(reference: Artifact, candidate: Artifact) -> tuple[float, float]:
    """Of two model files as they run here, in milliseconds."""
    before, after = (
        open_session(model.path, optimise=not needs_exact_arithmetic(model.card))
        for model in (reference, candidate)
    )
    measured = compare_latency(before, after)
    return measured.reference, measured.candidate
