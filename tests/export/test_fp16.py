import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto

from export.fp16 import halved
from export.int8 import prepared
from export.tensorrt.graph_rules import tensorrt_problems
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.onnx_runtime import open_session


@pytest.fixture(scope="module")
def ready(fp32: Artifact) -> onnx.ModelProto:
    return prepared(onnx.load(fp32.path))


@pytest.fixture(scope="module")
def half(ready: onnx.ModelProto) -> onnx.ModelProto:
    return halved(ready)


def test_bytes_come_in_and_floats_go_out_as_before(
    ready: onnx.ModelProto, half: onnx.ModelProto
) -> None:
    assert list(half.graph.input) == list(ready.graph.input)
    assert list(half.graph.output) == list(ready.graph.output)


def test_convolutions_have_half_floats_and_the_head_has_whole_ones(half: onnx.ModelProto) -> None:
    kinds = {held.name: held.data_type for held in half.graph.initializer}
    for node in half.graph.node:
        if node.op_type == "Conv":
            assert kinds[node.input[1]] == kinds[node.input[2]] == TensorProto.FLOAT16
        if node.op_type in ("Gemm", "MatMul", "Div"):
            assert TensorProto.FLOAT16 not in {kinds.get(name) for name in node.input}
    assert kinds["temperature"] == TensorProto.FLOAT


def test_nothing_but_the_convolutions_goes_through_half_floats(half: onnx.ModelProto) -> None:
    casts = [node for node in half.graph.node if node.op_type == "Cast"]
    assert len(casts) == 3  # the bytes, into the convolutions, and out of them


def test_it_answers_as_its_parent_does(
    ready: onnx.ModelProto, half: onnx.ModelProto, portraits: NDArray[np.uint8]
) -> None:
    before, after = (
        open_session(model.SerializeToString()).run(["probabilities"], {"faces": portraits[:64]})[0]
        for model in (ready, half)
    )
    np.testing.assert_allclose(before, after, atol=5e-3)
    assert not np.array_equal(before, after)


def test_it_keeps_tensorrts_rules_and_is_half_as_large(
    ready: onnx.ModelProto, half: onnx.ModelProto
) -> None:
    assert tensorrt_problems(half) == ()
    assert half.ByteSize() < 0.51 * ready.ByteSize()
