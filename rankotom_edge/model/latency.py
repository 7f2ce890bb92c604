"""The latency of two models on one face: calls interleaved, CPU time of the thread.

Wall-clock time on a busy machine flatters the faster model: the scheduler interrupts a call of 4 ms
more often than one of 1 ms.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rankotom_edge.model.artifact import INPUT, PROBABILITIES, Artifact
from rankotom_edge.model.onnx_runtime import InferenceSession, open_session
from rankotom_edge.model.target import needs_exact_arithmetic

WARM_UP = 5  # rounds; chosen by eye
ROUNDS = 100  # each model is called once a round; chosen by eye


@dataclass(frozen=True)
class Latencies:
    """Medians for one face on one thread, in milliseconds of CPU time."""

    reference: float
    candidate: float

    @property
    def ratio(self) -> float:
        """0.5 is half the time."""
        return self.candidate / self.reference


def compare_latency(
    reference: InferenceSession, candidate: InferenceSession, rounds: int = ROUNDS
) -> Latencies:
    """Time each on a black face of its own input size; both sessions must use one thread."""

    def one_face(session: InferenceSession) -> Callable[[], object]:
        (given,) = session.get_inputs()
        face = np.zeros((1, *given.shape[1:]), np.uint8)
        return lambda: session.run([PROBABILITIES], {INPUT: face})

    calls = [one_face(reference), one_face(candidate)]
    return Latencies(*interleaved_medians(calls, rounds, clock=time.thread_time))


def interleaved_medians(
    calls: Sequence[Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """The median of each call in milliseconds; every round makes each call once."""
    durations: list[list[float]] = [[] for _ in calls]
    for number in range(WARM_UP + rounds):
        for times, call in zip(durations, calls, strict=True):
            started = clock()
            call()
            elapsed = clock() - started
            if number >= WARM_UP:
                times.append(1000 * elapsed)
    return [statistics.median(times) for times in durations]


def compare_artifact_latency(reference: Artifact, candidate: Artifact) -> tuple[float, float]:
    """Two model files as this machine runs them, in milliseconds."""
    before, after = (
        open_session(model.path, optimise=not needs_exact_arithmetic(model.card))
        for model in (reference, candidate)
    )
    measured = compare_latency(before, after)
    return measured.reference, measured.candidate
