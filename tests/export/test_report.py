"""The report of an export, for a model that passed, failed, or had no labels."""

from dataclasses import replace
from io import StringIO

import numpy as np
import onnx
import pytest
from rich.console import Console

from calib.agreement import measure_agreement
from calib.drift import judge, measure_drift
from calib.limits import Limits, Verdict
from calib.predictions import Predictions
from export.gate import Candidate, GateResult
from export.judges import Degradation, Judgement
from export.report import smaller_model_report
from export.search import CalibrationResult, LayerResult, SearchResult
from export.smaller_model import SmallerModel
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.latency import Latencies

YES, NO = Verdict(True, (), ()), Verdict(False, ("ECE rose by 3.0 points.",), ())
DEGRADATIONS = {"layer2.1.conv2": 0.8, "layer2.1.conv1": 0.2, "layer1.0.conv1": 0.001}
CALIBRATIONS = (
    CalibrationResult("minmax", 0.8, Degradation(0.0123, 0.002)),
    CalibrationResult("entropy", 0.8, Degradation(-0.0004, 0.001)),
)


def page(smaller: SmallerModel, width: int = 100) -> str:
    console = Console(file=StringIO(), width=width)
    console.print(smaller_model_report(smaller, Limits()))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.fixture
def smaller(fp32: Artifact) -> SmallerModel:
    random = np.random.default_rng(0)
    said = Predictions.from_logits(random.normal(size=(200, 8)), random.integers(0, 8, 200))
    drift = measure_drift(said, said, size_ratio=0.26, latency_ms=(5.0, 2.0), resamples=10)
    result = GateResult(Judgement(YES, drift), YES, 0.26, Latencies(5.0, 2.0), True)
    candidate = Candidate(onnx.ModelProto(), 0.8, Degradation(-0.0004, 0.001))
    used = fp32.card.measured_on.as_json()
    card = replace(fp32.card, name="small", targets=("x86",), quantization={"judged_on": used})
    search = SearchResult(candidate, result, CALIBRATIONS)
    return SmallerModel(fp32, fp32, Judgement(judge(drift), drift), search, card, fp32.path)


def test_it_says_what_it_is_for_what_was_tried_and_where_it_is(smaller: SmallerModel) -> None:
    text = page(smaller)
    for words in ("x86 CPUs", "+0.0123", "−0.0004", "kept", str(smaller.parent.path.name)):
        assert words in text
    (kept,) = (line for line in text.splitlines() if "kept" in line)
    assert kept.startswith("entropy")
    assert "Layers to rank_layers" not in text
    assert "times\n" not in text


def test_restored_layers_stand_out(smaller: SmallerModel) -> None:
    layers = tuple(LayerResult(name, Degradation(nll, 0.01)) for name, nll in DEGRADATIONS.items())
    search = replace(
        smaller.search, layers=layers, restored=frozenset({"layer2.1.conv2"}), judgements=2
    )
    text = page(replace(smaller, search=search))
    (worst,) = (line for line in text.splitlines() if line.startswith("layer2.1.conv2"))
    (harmless,) = (line for line in text.splitlines() if line.startswith("layer1.0.conv1"))
    assert "restored to FP32" in worst
    assert worst.count("▇") == 24
    assert "▇" not in harmless
    assert "2 times" in text


def test_a_rejected_candidate_that_was_not_kept_says_how_to_keep_it(smaller: SmallerModel) -> None:
    text = page(replace(smaller, artifact=None, judgement=replace(smaller.judgement, verdict=NO)))
    assert "--keep-rejected" in text
    assert "ECE rose by 3.0 points." in text


def test_speed_that_was_not_judged_is_reported_all_the_same(smaller: SmallerModel) -> None:
    result = replace(smaller.search.gate_result, latency_judged=False)
    text = page(replace(smaller, search=replace(smaller.search, gate_result=result)))
    assert "5.0 ms → 2.0 ms here, not judged" in text


def test_without_labels_it_never_says_a_plain_yes(smaller: SmallerModel) -> None:
    shares = np.full((60, 8), 1 / 8)
    agreement = measure_agreement(shares, shares, smaller.card.labels)
    unsure = Verdict(True, (), ("Flips 0.0 %: 60 faces are too few to be sure.",))
    candidate = replace(smaller.search.candidate, degradation=Degradation(0.01, None))
    search = replace(smaller.search, candidate=candidate)
    text = page(replace(smaller, judgement=Judgement(unsure, agreement=agreement), search=search))
    for words in ("ECE not checked", "too few to be sure", "divergence"):
        assert words in text
    assert "Yes" not in text
