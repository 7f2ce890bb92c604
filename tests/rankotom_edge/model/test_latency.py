import time
from itertools import accumulate
from typing import cast

import pytest

from rankotom_edge.doctor.hardware import CPUINFO, features
from rankotom_edge.model.artifact import Artifact, load_artifact
from rankotom_edge.model.embedded import FP32, INT8
from rankotom_edge.model.latency import (
    WARM_UP,
    Latencies,
    compare_artifact_latency,
    compare_latency,
    interleaved_medians,
)
from rankotom_edge.model.onnx_runtime import InferenceSession, open_session
from rankotom_edge.model.target import this_machine


def test_every_round_calls_each_once_and_the_medians_are_milliseconds() -> None:
    called: list[str] = []
    # Each call takes as long as the clock moves between its two readings.
    ticks = [0.002, 0.0, 0.005, 0.0] * (WARM_UP + 3)
    readings = iter([0.0, *accumulate(ticks)])
    medians = interleaved_medians(
        [lambda: called.append("a"), lambda: called.append("b")], 3, clock=lambda: next(readings)
    )
    assert medians == pytest.approx([2.0, 5.0])
    assert called == ["a", "b"] * (WARM_UP + 3)


def test_a_first_slow_call_does_not_count() -> None:
    slow = [9.0] * (2 * WARM_UP)
    readings = iter([0.0, *accumulate(slow + [0.001, 0.0] * 3)])
    assert interleaved_medians([lambda: None], 3, clock=lambda: next(readings)) == pytest.approx(
        [1.0]
    )


def test_a_ratio_below_one_is_faster() -> None:
    assert Latencies(reference=5.0, candidate=2.0).ratio == pytest.approx(0.4)


def test_models_of_other_sizes_are_timed_on_faces_of_their_own(
    fp32: Artifact, tiny_artifact: Artifact
) -> None:
    before, after = compare_artifact_latency(fp32, tiny_artifact)
    assert after < before


def test_a_model_takes_about_as_long_as_itself(fp32: Artifact) -> None:
    session = open_session(fp32.path)
    measured = compare_latency(session, session, rounds=20)
    assert 0.2 < measured.ratio < 5


def test_time_that_others_have_the_machine_for_does_not_count(fp32: Artifact) -> None:
    """The scheduler interrupts a long call, and a short one not."""
    session = open_session(fp32.path)

    class Disturbed:
        def get_inputs(self) -> object:
            return session.get_inputs()

        def run(self, *given: object) -> object:
            time.sleep(0.02)
            return session.run(*given)

    measured = compare_latency(session, cast(InferenceSession, Disturbed()), rounds=20)
    assert measured.ratio < 2


@pytest.mark.skipif(
    this_machine() != "x86" or not {"avx512_vnni", "avx_vnni"} & features(CPUINFO.read_text()),
    reason="this CPU has no VNNI, on which the speed of INT8 rests",
)
def test_with_vnni_int8_is_at_least_two_and_a_half_times_as_fast() -> None:
    before, after = compare_artifact_latency(load_artifact(FP32), load_artifact(INT8))
    assert before / after >= 2.5
