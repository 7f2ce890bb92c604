"""The gate: predictions, size, and speed where the candidate is for this machine."""

import platform
from collections.abc import Callable

import onnx
import pytest

from calib.limits import Verdict
from export.fp16 import convert_to_fp16
from export.gate import Gate, add_size_and_speed
from export.judges import LabelledJudge
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.latency import Latencies
from rankotom_edge.model.target import Target

YES = Verdict(True, (), ("Flips 1.9 %: too few to be sure.",))
FASTER, SLOWER = Latencies(5.0, 2.0), Latencies(5.0, 6.0)


def test_a_smaller_and_faster_model_is_worth_it() -> None:
    assert add_size_and_speed(YES, 0.26, FASTER, judge_latency=True) == YES


def test_a_slower_one_is_not_and_the_reason_names_both_times_and_the_way_out() -> None:
    verdict = add_size_and_speed(YES, 0.26, SLOWER, judge_latency=True)
    assert not verdict.passed
    (reason,) = verdict.reasons
    for words in ("6.00 ms against 5.00 ms", "--allow-slower"):
        assert words in reason
    assert verdict.unsure == YES.unsure


def test_speed_does_not_count_where_it_says_nothing() -> None:
    assert add_size_and_speed(YES, 0.26, SLOWER, judge_latency=False).passed


@pytest.mark.parametrize("ratio", [1.0, 1.2])
def test_one_that_is_not_smaller_is_not_worth_it(ratio: float) -> None:
    verdict = add_size_and_speed(YES, ratio, FASTER, judge_latency=True)
    assert not verdict.passed
    assert "not smaller" in verdict.reasons[0]


def test_what_the_judge_held_against_it_stays() -> None:
    no = Verdict(False, ("ECE rose.",), ())
    verdict = add_size_and_speed(no, 0.26, SLOWER, judge_latency=True)
    assert verdict.reasons[0] == "ECE rose."
    assert len(verdict.reasons) == 2


@pytest.fixture(scope="module")
def judge(fp32: Artifact, judge_of: Callable[..., LabelledJudge]) -> LabelledJudge:
    return judge_of(fp32, count=40)


def make_gate(
    fp32: Artifact, prepared: onnx.ModelProto, judge: LabelledJudge, *, allow_slower: bool = False
) -> Gate:
    return Gate(fp32, prepared, judge, "int8", "x86", allow_slower=allow_slower)


def test_the_parent_as_a_candidate_fits_its_own_temperature_and_is_not_smaller(
    fp32: Artifact, prepared: onnx.ModelProto, judge: LabelledJudge
) -> None:
    gate = make_gate(fp32, prepared, judge)
    candidate = gate.calibrate(prepared)
    assert candidate.degradation.nll == pytest.approx(0, abs=1e-6)
    result = gate.check(candidate)
    assert result.size_ratio == pytest.approx(1, abs=0.01)
    assert result.judgement.drift is not None
    assert result.judgement.drift.flips.rate == 0


@pytest.mark.parametrize(
    ("machine", "allow_slower", "judged"),
    [
        ("x86_64", False, True),
        ("x86_64", True, False),
        ("aarch64", False, True),
        ("riscv64", False, False),
    ],
)
def test_speed_is_judged_on_the_machine_that_the_candidate_is_for(
    fp32: Artifact,
    prepared: onnx.ModelProto,
    judge: LabelledJudge,
    machine: str,
    allow_slower: bool,
    judged: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    gate = make_gate(fp32, prepared, judge, allow_slower=allow_slower)
    result = gate.check(gate.calibrate(prepared))
    assert result.latency_judged is judged
    slower = any("slower" in reason for reason in result.verdict.reasons)
    assert slower == (judged and result.latencies.ratio > 1)


@pytest.mark.parametrize(
    ("target", "targets", "judged"),
    [("arm", ("x86", "arm"), True), ("tensorrt", ("tensorrt",), False)],
)
def test_a_jetsons_cpu_does_not_judge_what_is_for_its_gpu(
    fp32: Artifact,
    prepared: onnx.ModelProto,
    judge: LabelledJudge,
    target: Target,
    targets: tuple[Target, ...],
    judged: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    gate = Gate(fp32, prepared, judge, "int8", target, allow_slower=False)
    assert gate.targets == targets
    assert gate.targets_this_machine is judged


def test_fp16_is_for_a_gpu_whatever_machine_this_is(
    fp32: Artifact, prepared: onnx.ModelProto, judge: LabelledJudge
) -> None:
    gate = Gate(fp32, prepared, judge, "fp16", "tensorrt", allow_slower=False)
    assert gate.targets == ("tensorrt",)
    assert not gate.targets_this_machine
    assert gate.check(gate.calibrate(convert_to_fp16(prepared))).size_ratio < 0.6
