"""Search for an INT8 model that passes the gate: the best calibration, then the layers to blame."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache

from export.gate import Candidate, Gate, GateResult
from export.int8 import (
    CALIBRATIONS,
    Calibration,
    Ranges,
    activation_ranges,
    quantizable_layers,
    quantize,
    scheme_for,
)
from export.judges import Degradation
from export.rounding import WeightRounding
from export.steps import Steps

# With more layers in FP32 than this share, a model is not INT8 any more; chosen by eye.
MAX_RESTORED = 1 / 3

Layers = frozenset[str]

# Planned seconds: what "rankotom-edge export --int8" took on two busy Zen 5 cores.
ROUNDING, JUDGING = "rounding the weights", "judging"
CALIBRATION_SECONDS: dict[Calibration, float] = {
    "minmax": 13,
    "entropy": 19,
    "percentile 99.99": 30,
    "percentile 99.999": 30,
}
LAYER_SECONDS = 5.0


@dataclass(frozen=True)
class CalibrationResult:
    """A way to calibrate activation ranges, and its result on the calibration faces."""

    calibration: Calibration
    temperature: float
    degradation: Degradation

    def as_json(self) -> dict[str, object]:
        return {
            "calibration": self.calibration,
            "temperature": self.temperature,
            **asdict(self.degradation),
        }


@dataclass(frozen=True)
class LayerResult:
    """The degradation when this layer alone is quantized."""

    layer: str
    degradation: Degradation

    def as_json(self) -> dict[str, object]:
        return {"layer": self.layer, **asdict(self.degradation)}


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The best candidate found, and how it was found."""

    candidate: Candidate
    gate_result: GateResult
    calibrations: tuple[CalibrationResult, ...] = ()
    layers: tuple[LayerResult, ...] = ()  # most harmful first; empty if the gate passed at once
    restored: Layers = frozenset()
    judgements: int = 1

    @property
    def passed(self) -> bool:
        return self.gate_result.verdict.passed

    @property
    def calibration(self) -> Calibration | None:
        best = min(self.calibrations, key=lambda each: each.degradation.nll, default=None)
        return None if best is None else best.calibration


def int8_steps() -> dict[str, float]:
    """The steps of a search that passes the gate at once, with their planned seconds."""
    calibrating = {_calibrating(name): CALIBRATION_SECONDS[name] for name in CALIBRATIONS}
    return {ROUNDING: 17, **calibrating, JUDGING: 10}


def _calibrating(calibration: Calibration) -> str:
    return f"calibrating: {calibration}"


def search_int8(gate: Gate, steps: Steps) -> SearchResult:
    """The calibration with the least NLL; if the gate fails, with the worst layers in FP32."""
    steps.begin(ROUNDING)
    model, scheme, faces = gate.parent_model, scheme_for(gate.target), gate.judge.calibration.pixels
    names = list(quantizable_layers(model))
    rounding = WeightRounding(model, names, faces)

    def make_candidate(ranges: Ranges, layers: Layers) -> Candidate:
        quantized = quantize(model, ranges, scheme, layers)
        rounding.apply(quantized)
        return gate.calibrate(quantized)

    results = []
    for calibration in CALIBRATIONS:
        steps.begin(_calibrating(calibration))
        ranges = activation_ranges(model, faces, calibration, scheme)
        results.append((calibration, make_candidate(ranges, frozenset()), ranges))
    _, candidate, ranges = min(results, key=lambda each: each[1].degradation.nll)
    steps.begin(JUDGING)
    calibrations = tuple(
        CalibrationResult(name, each.temperature, each.degradation) for name, each, _ in results
    )
    first = SearchResult(candidate, gate.check(candidate), calibrations)
    if not first.gate_result.predictions_failed:
        return first

    @cache
    def with_layers_in_fp32(layers: Layers) -> Candidate:
        return make_candidate(ranges, layers)

    def degradation_with(layers: Layers) -> Degradation:
        (alone,) = frozenset(names) - layers
        steps.begin(f"measuring layer {alone}")
        return with_layers_in_fp32(layers).degradation

    steps.expect({f"measuring layer {name}": LAYER_SECONDS for name in names})
    ranked = rank_layers(names, degradation_with)
    judged = [replace(first, layers=ranked)]

    def passes(layers: Layers) -> bool:
        steps.begin(f"judging with {', '.join(sorted(layers))} in FP32")
        candidate = with_layers_in_fp32(layers)
        result = replace(
            judged[0], candidate=candidate, gate_result=gate.check(candidate), restored=layers
        )
        judged.append(result)
        return result.passed

    restored = find_layers_to_restore([each.layer for each in ranked], passes)
    passed = (result for result in judged if result.restored == restored)
    return replace(next(passed, best_result(judged)), judgements=len(judged))


def best_result(results: Sequence[SearchResult]) -> SearchResult:
    """The one with the fewest reasons against it, then the least NLL."""
    return min(
        results,
        key=lambda each: (len(each.gate_result.verdict.reasons), each.candidate.degradation.nll),
    )


def rank_layers(
    layers: Sequence[str], degradation_with: Callable[[Layers], Degradation]
) -> tuple[LayerResult, ...]:
    """Quantize each layer alone; most harmful first. The callback takes the layers in FP32."""
    everything = frozenset(layers)
    alone = [LayerResult(layer, degradation_with(everything - {layer})) for layer in layers]
    return tuple(sorted(alone, key=lambda each: -each.degradation.total))


def find_layers_to_restore(
    ranked: Sequence[str], passes: Callable[[Layers], bool]
) -> Layers | None:
    """The fewest layers to restore so that the gate passes; None if a third is not enough.

    First try each layer alone. If none is enough, add the most harmful ones until the gate passes,
    then drop those that turn out not to be needed, the least harmful first.
    """
    suspects = ranked[: max_restored(len(ranked))]
    for layer in suspects:
        if passes(frozenset({layer})):
            return frozenset({layer})
    restored: Layers = frozenset(suspects[:1])
    for layer in suspects[1:]:
        restored |= {layer}
        if passes(restored):
            break
    else:
        return None
    for added in reversed([each for each in ranked if each in restored - {layer}]):
        if passes(restored - {added}):
            restored -= {added}
    return restored


def max_restored(layers: int) -> int:
    return int(layers * MAX_RESTORED)
