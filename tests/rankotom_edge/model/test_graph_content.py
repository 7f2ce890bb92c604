"""What a model file may be made of."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from calib.errors import RankotomError
from rankotom_edge.model.artifact import TEMPERATURE, Artifact, embedded_models, read_artifact
from rankotom_edge.model.graph_content import check_content

Change = Callable[[onnx.ModelProto], object]


def add_node(operator: str, **attributes: object) -> Change:
    return lambda model: model.graph.node.append(
        helper.make_node(operator, ["faces"], ["more"], **attributes)
    )


def add_huge(model: onnx.ModelProto) -> None:
    model.graph.initializer.append(TensorProto(name="huge", data_type=1, dims=[2**31 - 1]))


def add_huge_in_node(model: onnx.ModelProto) -> None:
    value = TensorProto(name="huge", data_type=1, dims=[2**20, 2**20])
    model.graph.node.append(helper.make_node("Constant", [], ["more"], value=value))


def add_sparse(model: onnx.ModelProto) -> None:
    one = numpy_helper.from_array(np.ones(1, np.float32), "one")
    places = numpy_helper.from_array(np.zeros(1, np.int64), "places")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(one, places, [2**40]))


def add_function(model: onnx.ModelProto) -> None:
    body = helper.make_function("ours", "Loop", ["a"], ["a"], [], [])
    model.functions.append(body)


def store_elsewhere(model: onnx.ModelProto) -> None:
    constant = model.graph.initializer[0]
    constant.data_location = TensorProto.EXTERNAL
    constant.external_data.add(key="location", value="/etc/passwd")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (add_node("Loop"), "uses Loop"),
        (add_node("ConstantOfShape"), "uses ConstantOfShape"),
        (add_node("Relu", domain="com.evil"), "uses com.evil.Relu"),
        (add_node("Relu", body=helper.make_graph([], "inner", [], [])), "holds another graph"),
        (add_huge, "claims 2147483647 numbers"),
        (add_huge_in_node, "claims 1048576 x 1048576 numbers"),
        (add_sparse, "sparse weights"),
        (add_function, "functions of its own"),
        (store_elsewhere, "in another file"),
        (lambda model: model.graph.node.extend(list(model.graph.node) * 400), "are run"),
    ],
)
def test_what_ours_do_not_have_is_refused_before_it_is_loaded(
    tiny_artifact: Artifact, tmp_path: Path, change: Change, words: str
) -> None:
    model = onnx.load(tiny_artifact.path)
    change(model)
    path = tmp_path / "changed.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(RankotomError, match=words):
        read_artifact(path)


def test_the_models_of_the_program_are_accepted_and_their_temperature_is_found() -> None:
    for path in embedded_models().values():
        assert len(check_content(path.read_bytes())[TEMPERATURE]) == 4


@pytest.mark.parametrize("content", [b"\x3a\xff\xff\xff\xff\x0f", b"\x3a\x02\x0a", b"\xff" * 40])
def test_bytes_that_are_no_protobuf_are_refused(content: bytes) -> None:
    with pytest.raises(RankotomError, match="not a whole ONNX file"):
        check_content(content)
