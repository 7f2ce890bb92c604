"""Quantized for real: the embedded model, the demo portrait in hundreds of ways, and poison."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

from calib.drift import Limits, Verdict
from calib.errors import RankotomError
from export import smaller_model as shrinking
from export.artifact_writer import write_artifact
from export.candidate import Attempt, Weighed
from export.int8 import CALIBRATIONS
from export.judges import Harm, Judged, WithLabels
from export.smaller_model import Made, Shrunk, how_bad, rejected_path, shrink, spread
from rankotom_edge.model.artifact import Artifact, load_artifact, read_artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.model.latency import Latencies

MakeJudge = Callable[..., WithLabels]
# Of 80 portraits one is 1.3 %, and ECE of so few jumps by points; the flips tell enough.
LIMITS = Limits(ece=0.08, aece=0.08, accuracy=0.06, flips=0.06)
POISONED = ("layer2.1.conv1", "layer2.1.conv2")


@pytest.fixture
def one_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shrinking, "CALIBRATIONS", {"minmax": CALIBRATIONS["minmax"]})


@pytest.fixture(scope="module")
def judge(fp32: Artifact, judge_of: MakeJudge) -> WithLabels:
    return judge_of(fp32, count=80, limits=LIMITS)


@pytest.fixture(scope="module")
def int8(fp32: Artifact, judge: WithLabels, tmp_path_factory: pytest.TempPathFactory) -> Shrunk:
    folder = tmp_path_factory.mktemp("int8")
    return shrink(fp32, judge, "int8", "x86", folder / "small.onnx", allow_slower=True)


def poisoned(parent: Artifact, path: Path) -> Artifact:
    """One channel between two convolutions, five hundred times as large: the same model in floats,
    and no room for the other channels in bytes."""
    model = onnx.load(parent.path)
    held = {initializer.name: initializer for initializer in model.graph.initializer}
    first, second = POISONED
    for name, where, factor in (
        (f"{first}.weight", (3,), 500.0),
        (f"{first}.bias", (3,), 500.0),
        (f"{second}.weight", (slice(None), 3), 1 / 500.0),
    ):
        values = numpy_helper.to_array(held[name]).copy()
        values[where] *= factor
        held[name].CopyFrom(numpy_helper.from_array(values, name))
    return write_artifact(model, replace(parent.card, name="poisoned-fp32"), path)


def test_a_good_candidate_is_written_and_says_how_it_was_made(
    int8: Shrunk, fp32: Artifact, judge: WithLabels
) -> None:
    assert int8.passed
    assert int8.artifact is not None
    written = read_artifact(int8.artifact.path)
    card = written.card
    assert (card.name, card.precision, card.targets) == ("small", "int8", ("x86",))
    assert card.parent == fp32.sha256
    assert card.calibrated_on == (judge.choose.used,)
    assert card.measured_on == judge.report.used
    assert card.temperature == pytest.approx(int8.made.attempt.temperature)
    assert card.figures["n"] == 80
    assert card.quantization["calibration"] == int8.made.calibration
    assert written.bytes < 0.3 * fp32.bytes
    assert written.has_evidence


def test_every_calibration_is_tried_and_the_least_nll_is_kept(int8: Shrunk) -> None:
    assert {each.calibration for each in int8.made.tried} == set(CALIBRATIONS)
    best = min(int8.made.tried, key=lambda each: each.harm.nll)
    assert best.calibration == int8.made.calibration
    assert best.harm == int8.made.attempt.harm


def test_the_drift_tells_all_that_the_report_shows(int8: Shrunk, fp32: Artifact) -> None:
    drift = int8.judged.drift
    assert drift is not None
    assert drift.reference.temperature == fp32.card.temperature
    assert drift.candidate.temperature == int8.card.temperature
    assert drift.reference.model["name"] == "ferplus-fp32"
    assert drift.size_ratio is not None
    assert int8.artifact is not None
    assert drift.size_ratio == pytest.approx(int8.artifact.bytes / fp32.bytes, rel=1e-3)
    assert drift.latency_ms is not None
    json.dumps(int8.as_json(), allow_nan=False)


def test_the_file_answers_as_the_gate_heard_it(int8: Shrunk, judge: WithLabels) -> None:
    assert int8.artifact is not None
    assert int8.judged.drift is not None
    scores = Classifier(int8.artifact).classify(judge.judging)
    parent = judge.parent_judging.predicted
    assert np.mean(scores.logits.argmax(axis=1) != parent) == pytest.approx(
        int8.judged.drift.flips.rate
    )


@pytest.mark.usefixtures("one_calibration")
def test_a_poisoned_layer_is_caught_named_and_restored(
    fp32: Artifact, judge_of: MakeJudge, tmp_path: Path
) -> None:
    parent = poisoned(fp32, tmp_path / "poisoned-fp32.onnx")
    judge = judge_of(parent, count=80, limits=LIMITS)
    shrunk = shrink(parent, judge, "int8", "x86", tmp_path / "out.onnx", allow_slower=True)
    (tried,) = shrunk.made.tried
    assert tried.harm.nll > 0.02
    assert {each.layer for each in shrunk.made.blamed[:2]} == set(POISONED)
    assert shrunk.made.restored <= set(POISONED)
    assert shrunk.made.restored
    assert shrunk.passed
    assert shrunk.made.judgements >= 2
    assert read_artifact(tmp_path / "out.onnx").card.layers_in_fp32 == (
        "conv1",
        *sorted(shrunk.made.restored),
    )


@pytest.mark.usefixtures("one_calibration")
def test_ranges_that_are_too_narrow_for_faces_are_caught(
    fp32: Artifact, judge: WithLabels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Grey noise has less contrast than faces, so its ranges cut off what faces do. Pictures of
    noise in place of faces do not come this far: test_judges.py, test_unlabelled.py."""
    random = np.random.default_rng(0)
    noise = random.integers(126, 130, judge.choosing.shape, dtype=np.uint8)
    monkeypatch.setattr(shrinking, "spread", lambda faces, count: noise[:64])
    shrunk = shrink(fp32, judge, "int8", "x86", tmp_path / "out.onnx", allow_slower=True)
    assert not shrunk.passed
    assert shrunk.judged.verdict.reasons
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("one_calibration")
def test_a_rejected_candidate_is_kept_beside_its_place_only_when_asked_for(
    fp32: Artifact, judge_of: MakeJudge, tmp_path: Path
) -> None:
    impossible = judge_of(fp32, count=40, limits=replace(LIMITS, flips=-1.0))
    output = tmp_path / "out.onnx"
    output.write_text("what was there before")
    shrunk = shrink(fp32, impossible, "int8", "x86", output, allow_slower=True, keep_rejected=True)
    assert not shrunk.passed
    assert output.read_text() == "what was there before"
    card = read_artifact(rejected_path(output)).card
    assert (card.precision, card.name) == ("int8", rejected_path(output).stem)


def test_a_half_float_model_agrees_with_its_parent(
    fp32: Artifact, judge: WithLabels, tmp_path: Path
) -> None:
    shrunk = shrink(fp32, judge, "fp16", "tensorrt", tmp_path / "half.onnx")
    assert shrunk.passed
    assert shrunk.card.targets == ("tensorrt",)
    assert shrunk.judged.drift is not None
    assert shrunk.judged.drift.flips.rate <= 0.01
    assert not shrunk.made.weighed.latency_judged  # a CPU says nothing of a GPU's speed


def test_the_parent_is_never_overwritten(fp32: Artifact, judge: WithLabels, tmp_path: Path) -> None:
    own = write_artifact(onnx.load(fp32.path), fp32.card, tmp_path / "own.onnx")
    with pytest.raises(RankotomError, match="the FP32 model itself"):
        shrink(own, judge, "fp16", "tensorrt", tmp_path / "own.onnx")
    assert read_artifact(own.path).card.precision == "fp32"


def test_weights_too_large_for_half_floats_are_named(
    fp32: Artifact, judge: WithLabels, tmp_path: Path
) -> None:
    model = onnx.load(fp32.path)
    held = next(each for each in model.graph.initializer if each.name == "conv1.weight")
    held.CopyFrom(numpy_helper.from_array(1e6 * numpy_helper.to_array(held), held.name))
    huge = write_artifact(model, fp32.card, tmp_path / "huge.onnx")
    with pytest.raises(RankotomError, match=r"conv1\.weight.*too large for FP16"):
        shrink(huge, judge, "fp16", "tensorrt", tmp_path / "half.onnx")


def test_activations_that_a_gpu_could_not_hold_in_fp16_are_refused(
    fp32: Artifact, judge: WithLabels, tmp_path: Path
) -> None:
    model = onnx.load(fp32.path)
    held = next(each for each in model.graph.initializer if each.name == "conv1.weight")
    weights = numpy_helper.to_array(held)
    large = 3e4 * weights / np.abs(weights).max()
    held.CopyFrom(numpy_helper.from_array(large.astype(np.float32), held.name))
    huge = write_artifact(model, fp32.card, tmp_path / "huge.onnx")
    with pytest.raises(RankotomError, match=r"reaches [\d,]+ on these faces.*FP16 can hold"):
        shrink(huge, judge, "fp16", "tensorrt", tmp_path / "half.onnx")


def test_where_nothing_passes_the_best_that_was_found_is_reported() -> None:
    def made(reasons: int, nll: float) -> Made:
        verdict = Verdict(False, ("No.",) * reasons, ())
        weighed = Weighed(Judged(verdict), verdict, 0.3, Latencies(2.0, 1.0), True)
        return Made(Attempt(onnx.ModelProto(), np.zeros((1, 8)), 1.0, Harm(nll, None)), weighed)

    worse, best, last = made(2, 0.1), made(1, 0.2), made(1, 0.3)
    assert min([worse, best, last], key=how_bad) is best


def test_only_an_fp32_model_is_made_smaller(judge: WithLabels, tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match="ferplus-int8 is int8 already"):
        shrink(load_artifact("ferplus-int8"), judge, "int8", "x86", tmp_path / "out.onnx")


def test_an_interrupt_leaves_nothing_behind(
    fp32: Artifact, judge: WithLabels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path) -> Artifact:
        raise KeyboardInterrupt

    monkeypatch.setattr("export.artifact_writer.read_artifact", interrupted)
    with pytest.raises(KeyboardInterrupt):
        shrink(fp32, judge, "fp16", "tensorrt", tmp_path / "half.onnx")
    assert list(tmp_path.iterdir()) == []


def test_calibration_faces_come_from_all_over() -> None:
    faces = np.arange(1000, dtype=np.int64).astype(np.uint8)[:, None]
    chosen: NDArray[np.uint8] = spread(faces, 10)
    assert len(chosen) == 10
    assert (chosen[0], chosen[-1]) == (faces[0], faces[-1])
    assert len(spread(faces, 5000)) == 1000
