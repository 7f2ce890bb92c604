"""A candidate on trial, where the machine that it is for is this one or another."""

import platform
from collections.abc import Callable

import onnx
import pytest

from export.candidate import Trial
from export.fp16 import halved
from export.int8 import prepared
from export.judges import WithLabels
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.machine import Target


@pytest.fixture(scope="module")
def ready(fp32: Artifact) -> onnx.ModelProto:
    return prepared(onnx.load(fp32.path))


@pytest.fixture(scope="module")
def judge(fp32: Artifact, judge_of: Callable[..., WithLabels]) -> WithLabels:
    return judge_of(fp32, count=40)


def trial_of(
    fp32: Artifact, ready: onnx.ModelProto, judge: WithLabels, *, allow_slower: bool = False
) -> Trial:
    return Trial(fp32, ready, judge, "int8", "x86", allow_slower=allow_slower)


def test_the_parent_on_trial_fits_its_own_temperature_and_is_not_smaller(
    fp32: Artifact, ready: onnx.ModelProto, judge: WithLabels
) -> None:
    trial = trial_of(fp32, ready, judge)
    attempt = trial.attempt(ready)
    assert attempt.harm.nll == pytest.approx(0, abs=1e-6)
    weighed = trial.weighed(attempt)
    assert weighed.size_ratio == pytest.approx(1, abs=0.01)
    assert weighed.judged.drift is not None
    assert weighed.judged.drift.flips.rate == 0


@pytest.mark.parametrize(
    ("machine", "allow_slower", "judged"),
    [("x86_64", False, True), ("x86_64", True, False), ("aarch64", False, False)],
)
def test_speed_is_judged_on_the_machine_that_the_candidate_is_for(
    fp32: Artifact,
    ready: onnx.ModelProto,
    judge: WithLabels,
    machine: str,
    allow_slower: bool,
    judged: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    trial = trial_of(fp32, ready, judge, allow_slower=allow_slower)
    weighed = trial.weighed(trial.attempt(ready))
    assert weighed.latency_judged is judged
    slower = any("slower" in reason for reason in weighed.verdict.reasons)
    assert slower == (judged and weighed.latencies.ratio > 1)


@pytest.mark.parametrize(("target", "judged"), [("arm", True), ("tensorrt", False)])
def test_a_jetsons_cpu_does_not_judge_what_is_for_its_gpu(
    fp32: Artifact,
    ready: onnx.ModelProto,
    judge: WithLabels,
    target: Target,
    judged: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    trial = Trial(fp32, ready, judge, "int8", target, allow_slower=False)
    assert trial.targets == ("arm", "tensorrt")
    assert trial.at_home is judged


def test_half_floats_are_for_a_gpu_whatever_machine_this_is(
    fp32: Artifact, ready: onnx.ModelProto, judge: WithLabels
) -> None:
    trial = Trial(fp32, ready, judge, "fp16", "tensorrt", allow_slower=False)
    assert trial.targets == ("tensorrt",)
    assert not trial.at_home
    assert trial.weighed(trial.attempt(halved(ready))).size_ratio < 0.6
