"""A model file that is well formed and answers what ours would not."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import rankotom_edge.model.onnx_runtime
from calib.errors import RankotomError
from rankotom_edge.model.artifact import Artifact, read_artifact
from rankotom_edge.model.classifier import Classifier

Change = Callable[[onnx.GraphProto], object]


def rename(graph: onnx.GraphProto, name: str) -> str:
    """The output has another name, so that a node can be put between."""
    for node in graph.node:
        node.output[:] = [f"{name}_before" if each == name else each for each in node.output]
        node.input[:] = [f"{name}_before" if each == name else each for each in node.input]
    return f"{name}_before"


def three_rows(graph: onnx.GraphProto) -> None:
    for name in ("logits", "probabilities"):
        before = rename(graph, name)
        graph.node.append(helper.make_node("Concat", [before] * 3, [name], axis=0))


def weights_of(number: float) -> Change:
    def change(graph: onnx.GraphProto) -> None:
        for constant in graph.initializer:
            if len(constant.dims) > 1:
                wrong = np.full_like(numpy_helper.to_array(constant), number)
                constant.CopyFrom(numpy_helper.from_array(wrong, constant.name))

    return change


def gather(graph: onnx.GraphProto) -> None:
    """A million millions of copies of a face."""
    indices = numpy_helper.from_array(np.zeros(10**6, np.int64), "zeros")
    graph.initializer.append(indices)
    before = rename(graph, "evidence")
    graph.node.append(helper.make_node("Gather", [before, "zeros"], ["many"], axis=2))
    graph.node.append(helper.make_node("Gather", ["many", "zeros"], ["evidence"], axis=3))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (three_rows, "answers 1 faces with logits of the shape"),
        (weights_of(float("nan")), "not finite"),
        (weights_of(float("inf")), "not finite"),
        (gather, "does not run"),
    ],
)
def test_a_graph_that_answers_something_else_is_refused(
    tiny_artifact: Artifact, tmp_path: Path, change: Change, words: str
) -> None:
    model = onnx.load(tiny_artifact.path)
    change(model.graph)
    path = tmp_path / "changed.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(RankotomError, match=words):
        read_artifact(path)


@pytest.mark.parametrize("factor", [-1.0, 2.0])
def test_probabilities_that_are_none_end_the_run(
    tiny_artifact: Artifact, tmp_path: Path, factor: float
) -> None:
    model = onnx.load(tiny_artifact.path)
    before = rename(model.graph, "probabilities")
    model.graph.initializer.append(numpy_helper.from_array(np.float32(factor), "factor"))
    model.graph.node.append(helper.make_node("Mul", [before, "factor"], ["probabilities"]))
    path = tmp_path / "changed.onnx"
    path.write_bytes(model.SerializeToString())
    refused = pytest.raises(RankotomError, match="negative or do not sum to 1")
    with Classifier(read_artifact(path)) as classifier, refused:
        classifier.classify(np.zeros((2, 1, 32, 32), np.uint8))


def test_a_graph_that_does_not_answer_in_time_is_refused(
    tiny_artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rankotom_edge.model.onnx_runtime, "LONGEST_RUN", 0.2)
    model = onnx.load(tiny_artifact.path)
    graph, size = model.graph, 1500
    graph.initializer.append(numpy_helper.from_array(np.ones((size, size), np.float32), "square"))
    before = rename(graph, "probabilities")
    for step in range(500):
        named = ["square" if step == 0 else f"square{step}", "square"]
        graph.node.append(helper.make_node("MatMul", named, [f"square{step + 1}"]))
    graph.node.append(helper.make_node("ReduceMean", ["square500"], ["mean"], keepdims=0))
    graph.node.append(helper.make_node("Mul", [before, "mean"], ["probabilities"]))
    path = tmp_path / "slow.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(RankotomError, match="does not run"):
        read_artifact(path)
