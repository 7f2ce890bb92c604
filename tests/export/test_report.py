"""The page at the end of an export, for a candidate that passed, failed, or had no labels."""

from dataclasses import replace
from io import StringIO

import numpy as np
import onnx
import pytest
from rich.console import Console

from calib.agreement import measure_agreement
from calib.drift import Limits, Verdict, judge, measure_drift
from calib.predictions import Predictions
from export.candidate import Attempt, Weighed
from export.gate import LayerHarm
from export.judges import Harm, Judged
from export.report import shrunk_report
from export.smaller_model import Made, Shrunk, Tried
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.latency import Latencies

YES, NO = Verdict(True, (), ()), Verdict(False, ("ECE rose by 3.0 points.",), ())
HARMS = {"layer2.1.conv2": 0.8, "layer2.1.conv1": 0.2, "layer1.0.conv1": 0.001}
TRIED = (Tried("minmax", 0.8, Harm(0.0123, 0.002)), Tried("entropy", 0.8, Harm(-0.0004, 0.001)))


def page(shrunk: Shrunk, width: int = 100) -> str:
    console = Console(file=StringIO(), width=width)
    console.print(shrunk_report(shrunk, Limits()))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.fixture
def shrunk(fp32: Artifact) -> Shrunk:
    random = np.random.default_rng(0)
    said = Predictions.from_logits(random.normal(size=(200, 8)), random.integers(0, 8, 200))
    drift = measure_drift(said, said, size_ratio=0.26, latency_ms=(5.0, 2.0), resamples=10)
    weighed = Weighed(Judged(YES, drift), YES, 0.26, Latencies(5.0, 2.0), True)
    attempt = Attempt(onnx.ModelProto(), np.zeros((1, 8)), 0.8, Harm(-0.0004, 0.001))
    used = fp32.card.measured_on.as_json()
    card = replace(fp32.card, name="small", targets=("x86",), quantization={"judged_on": used})
    made = Made(attempt, weighed, TRIED)
    return Shrunk(fp32, fp32, Judged(judge(drift), drift), made, card, fp32.path)


def test_it_says_for_whom_it_is_what_was_tried_and_where_it_is(shrunk: Shrunk) -> None:
    text = page(shrunk)
    for words in ("x86 CPUs", "+0.0123", "−0.0004", "kept", str(shrunk.parent.path.name)):
        assert words in text
    (kept,) = (line for line in text.splitlines() if "kept" in line)
    assert kept.startswith("entropy")
    assert "Layers to blame" not in text
    assert "times\n" not in text


def test_restored_layers_stand_out_among_the_blamed(shrunk: Shrunk) -> None:
    blamed = tuple(LayerHarm(name, Harm(nll, 0.01)) for name, nll in HARMS.items())
    made = replace(shrunk.made, blamed=blamed, restored=frozenset({"layer2.1.conv2"}), judgements=2)
    text = page(replace(shrunk, made=made))
    (worst,) = (line for line in text.splitlines() if line.startswith("layer2.1.conv2"))
    (harmless,) = (line for line in text.splitlines() if line.startswith("layer1.0.conv1"))
    assert "restored to FP32" in worst
    assert worst.count("▇") == 24
    assert "▇" not in harmless
    assert "2 times" in text


def test_a_rejected_candidate_that_was_not_kept_says_how_to_keep_it(shrunk: Shrunk) -> None:
    text = page(replace(shrunk, artifact=None, judged=replace(shrunk.judged, verdict=NO)))
    assert "--keep-rejected" in text
    assert "ECE rose by 3.0 points." in text


def test_speed_that_was_not_judged_is_told_all_the_same(shrunk: Shrunk) -> None:
    weighed = replace(shrunk.made.weighed, latency_judged=False)
    text = page(replace(shrunk, made=replace(shrunk.made, weighed=weighed)))
    assert "5.0 ms → 2.0 ms here, not judged" in text


def test_without_labels_it_never_says_a_plain_yes(shrunk: Shrunk) -> None:
    shares = np.full((60, 8), 1 / 8)
    agreement = measure_agreement(shares, shares, shrunk.card.labels)
    unsure = Verdict(True, (), ("Flips 0.0 %: 60 faces are too few to be sure.",))
    attempt = replace(shrunk.made.attempt, harm=Harm(0.01, None))
    made = replace(shrunk.made, attempt=attempt)
    text = page(replace(shrunk, judged=Judged(unsure, agreement=agreement), made=made))
    for words in ("ECE not checked", "too few to be sure", "divergence"):
        assert words in text
    assert "Yes" not in text
