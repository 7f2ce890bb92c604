"""The embedded model made smaller, on hundreds of variants of the demo portrait."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

from calib.errors import RankotomError
from calib.limits import Limits
from export.artifact_writer import write_artifact
from export.faces import unlabelled_faces
from export.int8 import CALIBRATIONS
from export.judges import LabelledJudge, UnlabelledJudge
from export.smaller_model import SmallerModel, make_smaller_model, rejected_path
from rankotom_edge.model.artifact import Artifact, load_artifact, read_artifact
from rankotom_edge.model.classifier import Classifier

MakeJudge = Callable[..., LabelledJudge]
# One of 80 portraits is 1.3 %, and ECE on so few faces varies by points; flips are the test.
LIMITS = Limits(ece=0.08, aece=0.08, accuracy=0.06, flips=0.06)
POISONED = ("blocks.3.conv1", "blocks.3.conv2")


@pytest.fixture(scope="module")
def judge(fp32: Artifact, judge_of: MakeJudge) -> LabelledJudge:
    return judge_of(fp32, count=80, limits=LIMITS)


@pytest.fixture(scope="module")
def int8(
    fp32: Artifact, judge: LabelledJudge, tmp_path_factory: pytest.TempPathFactory
) -> SmallerModel:
    folder = tmp_path_factory.mktemp("int8")
    return make_smaller_model(fp32, judge, "int8", "x86", folder / "small.onnx", allow_slower=True)


def poisoned(parent: Artifact, path: Path) -> Artifact:
    """One channel between two convolutions is 500 times as large: the same model in FP32, but in
    INT8 there is no range left for the other channels."""
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
    int8: SmallerModel, fp32: Artifact, judge: LabelledJudge
) -> None:
    assert int8.passed
    assert int8.artifact is not None
    written = read_artifact(int8.artifact.path)
    card = written.card
    assert (card.name, card.precision, card.targets) == ("small", "int8", ("x86", "arm"))
    assert card.parent == fp32.sha256
    assert card.calibrated_on == (judge.calibration.used,)
    assert card.measured_on == judge.held_out.used
    assert card.temperature == pytest.approx(int8.search.candidate.temperature)
    assert card.evaluation.n == 80
    assert card.quantization["calibration"] == int8.search.calibration
    assert written.bytes < 0.3 * fp32.bytes
    assert written.has_evidence


def test_every_calibration_is_tried_and_the_least_nll_is_kept(int8: SmallerModel) -> None:
    assert {each.calibration for each in int8.search.calibrations} == set(CALIBRATIONS)
    best = min(int8.search.calibrations, key=lambda each: each.degradation.nll)
    assert best.calibration == int8.search.calibration
    assert best.degradation == int8.search.candidate.degradation


def test_the_drift_has_all_that_the_report_shows(int8: SmallerModel, fp32: Artifact) -> None:
    drift = int8.judgement.drift
    assert drift is not None
    assert drift.reference.temperature == fp32.card.temperature
    assert drift.candidate.temperature == int8.card.temperature
    assert drift.reference.model["name"] == "ferplus-fp32"
    assert drift.size_ratio is not None
    assert int8.artifact is not None
    assert drift.size_ratio == pytest.approx(int8.artifact.bytes / fp32.bytes, rel=1e-3)
    assert drift.latency_ms is not None
    json.dumps(int8.as_json(), allow_nan=False)


def test_the_file_predicts_as_the_gate_measured(int8: SmallerModel, judge: LabelledJudge) -> None:
    assert int8.artifact is not None
    assert int8.judgement.drift is not None
    scores = Classifier(int8.artifact).classify(judge.held_out.pixels)
    parent = judge.parent_on_held_out.predicted
    assert np.mean(scores.logits.argmax(axis=1) != parent) == pytest.approx(
        int8.judgement.drift.flips.rate
    )


@pytest.mark.usefixtures("one_calibration")
def test_a_poisoned_layer_is_caught_named_and_restored(
    fp32: Artifact, judge_of: MakeJudge, tmp_path: Path
) -> None:
    parent = poisoned(fp32, tmp_path / "poisoned-fp32.onnx")
    judge = judge_of(parent, count=80, limits=LIMITS)
    smaller = make_smaller_model(
        parent, judge, "int8", "x86", tmp_path / "out.onnx", allow_slower=True
    )
    (tried,) = smaller.search.calibrations
    assert tried.degradation.nll > 0.02
    assert {each.layer for each in smaller.search.layers[:2]} == set(POISONED)
    assert smaller.search.restored <= set(POISONED)
    assert smaller.search.restored
    assert smaller.passed
    assert smaller.search.judgements >= 2
    assert read_artifact(tmp_path / "out.onnx").card.layers_in_fp32 == (
        "conv1",
        *sorted(smaller.search.restored),
    )


@pytest.mark.usefixtures("one_calibration")
def test_a_rejected_candidate_is_written_next_to_the_output_only_if_asked_for(
    fp32: Artifact, judge_of: MakeJudge, tmp_path: Path
) -> None:
    impossible = judge_of(fp32, count=40, limits=replace(LIMITS, flips=-1.0))
    output = tmp_path / "out.onnx"
    output.write_text("what was there before")
    smaller = make_smaller_model(
        fp32, impossible, "int8", "x86", output, allow_slower=True, keep_rejected=True
    )
    assert not smaller.passed
    assert output.read_text() == "what was there before"
    card = read_artifact(rejected_path(output)).card
    assert (card.precision, card.name) == ("int8", rejected_path(output).stem)


def test_without_labels_a_model_can_guarantee_nothing(
    fp32: Artifact, portraits: NDArray[np.uint8], tmp_path: Path
) -> None:
    halves = (unlabelled_faces(f"a/{name}", portraits[:60]) for name in ("calibrate", "judge"))
    judge = UnlabelledJudge.of_parent(fp32, *halves, LIMITS)
    smaller = make_smaller_model(fp32, judge, "fp16", "tensorrt", tmp_path / "fp16.onnx")
    assert fp32.card.evaluation.thresholds
    assert smaller.card.evaluation.thresholds == smaller.card.evaluation.set_masses == ()


def test_an_fp16_model_agrees_with_its_parent(
    fp32: Artifact, judge: LabelledJudge, tmp_path: Path
) -> None:
    smaller = make_smaller_model(fp32, judge, "fp16", "tensorrt", tmp_path / "fp16.onnx")
    assert smaller.passed
    assert smaller.card.targets == ("tensorrt",)
    assert smaller.judgement.drift is not None
    assert smaller.judgement.drift.flips.rate <= 0.01
    assert not smaller.search.gate_result.latency_judged  # a CPU does not tell the speed of a GPU


def test_the_parent_is_never_overwritten(
    fp32: Artifact, judge: LabelledJudge, tmp_path: Path
) -> None:
    own = write_artifact(onnx.load(fp32.path), fp32.card, tmp_path / "own.onnx")
    with pytest.raises(RankotomError, match="the FP32 model itself"):
        make_smaller_model(own, judge, "fp16", "tensorrt", tmp_path / "own.onnx")
    assert read_artifact(own.path).card.precision == "fp32"


def test_a_model_that_fp16_cannot_hold_is_not_written(
    fp32: Artifact, judge: LabelledJudge, tmp_path: Path
) -> None:
    model = onnx.load(fp32.path)
    tensor = next(each for each in model.graph.initializer if each.name == "conv1.weight")
    weights = numpy_helper.to_array(tensor)
    large = 3e4 * weights / np.abs(weights).max()
    tensor.CopyFrom(numpy_helper.from_array(large.astype(np.float32), tensor.name))
    huge = write_artifact(model, fp32.card, tmp_path / "huge.onnx")
    with pytest.raises(RankotomError, match=r"reaches [\d,]+ on these faces.*FP16 can hold"):
        make_smaller_model(huge, judge, "fp16", "tensorrt", tmp_path / "fp16.onnx")
    assert list(tmp_path.iterdir()) == [huge.path]


def test_only_an_fp32_model_is_made_smaller(judge: LabelledJudge, tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match="ferplus-int8 is int8 already"):
        make_smaller_model(
            load_artifact("ferplus-int8"), judge, "int8", "x86", tmp_path / "out.onnx"
        )


def test_an_interrupt_leaves_nothing_behind(
    fp32: Artifact, judge: LabelledJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(path: Path) -> Artifact:
        raise KeyboardInterrupt

    monkeypatch.setattr("export.artifact_writer.read_artifact", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_smaller_model(fp32, judge, "fp16", "tensorrt", tmp_path / "fp16.onnx")
    assert list(tmp_path.iterdir()) == []
