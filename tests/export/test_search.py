"""The search for an INT8 model: calibrations, layers to blame, and layers to restore."""

from collections.abc import Callable

import onnx
import pytest

from calib.limits import Limits, Verdict
from export.gate import Candidate, Gate, GateResult
from export.judges import Degradation, Judgement, LabelledJudge
from export.search import (
    Layers,
    SearchResult,
    best_result,
    find_layers_to_restore,
    int8_steps,
    rank_layers,
    search_int8,
)
from export.steps import Steps
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.latency import Latencies


def test_layers_are_ranked_by_their_degradation_when_quantized_alone() -> None:
    degradations = {"a": 0.01, "b": 0.5, "c": -0.001}
    calls: list[Layers] = []

    def degradation_with(in_fp32: Layers) -> Degradation:
        calls.append(in_fp32)
        (alone,) = degradations.keys() - in_fp32
        return Degradation(degradations[alone], None)

    assert [each.layer for each in rank_layers(list(degradations), degradation_with)] == [
        "b",
        "a",
        "c",
    ]
    assert all(len(in_fp32) == 2 for in_fp32 in calls)


def test_ece_counts_as_well_as_nll() -> None:
    degradations = {
        "a": Degradation(0.010, -0.001),
        "b": Degradation(0.008, 0.02),
        "c": Degradation(0.05, 0.0),
    }

    def degradation_with(in_fp32: Layers) -> Degradation:
        (alone,) = degradations.keys() - in_fp32
        return degradations[alone]

    assert [each.layer for each in rank_layers(list(degradations), degradation_with)] == [
        "c",
        "b",
        "a",
    ]


LAYERS = [f"layer{number}" for number in range(12)]  # a third of them is four


@pytest.mark.parametrize("needed", [{"layer0"}, {"layer2"}, {"layer0", "layer2"}, {"layer3"}])
def test_the_fewest_needed_layers_are_restored(needed: Layers) -> None:
    calls: list[Layers] = []

    def passes(in_fp32: Layers) -> bool:
        calls.append(in_fp32)
        return needed <= in_fp32

    assert find_layers_to_restore(LAYERS, passes) == needed  # the others before them are not needed
    assert needed in calls
    assert len(calls) <= 10


def test_one_layer_that_is_enough_alone_is_preferred_to_two_that_are_together() -> None:
    def passes(in_fp32: Layers) -> bool:
        return {"layer0", "layer1"} <= in_fp32 or "layer2" in in_fp32

    assert find_layers_to_restore(LAYERS, passes) == {"layer2"}


def test_no_more_than_a_third_of_the_layers_is_restored() -> None:
    calls: list[Layers] = []

    def never(in_fp32: Layers) -> bool:
        calls.append(in_fp32)
        return False

    assert find_layers_to_restore(LAYERS, never) is None
    alone = [frozenset({layer}) for layer in LAYERS[:4]]
    assert calls == alone + [frozenset(LAYERS[:count]) for count in (2, 3, 4)]


def test_where_nothing_passes_the_best_that_was_found_is_reported() -> None:
    def result(reasons: int, nll: float) -> SearchResult:
        verdict = Verdict(False, ("No.",) * reasons, ())
        gate_result = GateResult(Judgement(verdict), verdict, 0.3, Latencies(2.0, 1.0), True)
        return SearchResult(Candidate(onnx.ModelProto(), 1.0, Degradation(nll, None)), gate_result)

    worse, best, last = result(2, 0.1), result(1, 0.2), result(1, 0.3)
    assert best_result([worse, best, last]) is best


@pytest.mark.usefixtures("one_calibration")
def test_the_search_shows_its_progress_and_stops_when_the_gate_passes(
    fp32: Artifact, prepared: onnx.ModelProto, judge_of: Callable[..., LabelledJudge]
) -> None:
    wide = Limits(ece=0.08, aece=0.08, accuracy=0.06, flips=0.06)  # for so few faces
    judge = judge_of(fp32, count=40, limits=wide)
    gate = Gate(fp32, prepared, judge, "int8", "x86", allow_slower=True)
    shown: list[str] = []

    class Recorded(Steps):
        def begin(self, words: str) -> None:
            shown.append(words)
            super().begin(words)

    found = search_int8(gate, Recorded())
    assert found.passed
    assert shown == ["rounding the weights", "calibrating: minmax", "judging"] == [*int8_steps()]
    assert (found.calibration, found.restored, found.judgements) == ("minmax", frozenset(), 1)
