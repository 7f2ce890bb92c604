import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper

from calib.errors import RankotomError
from export.fp16 import check_activations_fit, convert_to_fp16
from export.int8 import prepare
from export.tensorrt.graph_rules import tensorrt_problems
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.onnx_runtime import open_session


@pytest.fixture(scope="module")
def fp16(prepared: onnx.ModelProto) -> onnx.ModelProto:
    return convert_to_fp16(prepared)


def test_bytes_come_in_and_floats_go_out_as_before(
    prepared: onnx.ModelProto, fp16: onnx.ModelProto
) -> None:
    assert list(fp16.graph.input) == list(prepared.graph.input)
    assert list(fp16.graph.output) == list(prepared.graph.output)


def test_convolutions_are_fp16_and_the_head_is_fp32(fp16: onnx.ModelProto) -> None:
    types = {tensor.name: tensor.data_type for tensor in fp16.graph.initializer}
    for node in fp16.graph.node:
        if node.op_type == "Conv":
            assert {types[name] for name in node.input[1:]} == {TensorProto.FLOAT16}
        if node.op_type in ("Gemm", "MatMul", "Div"):
            assert TensorProto.FLOAT16 not in {types.get(name) for name in node.input}
    assert types["temperature"] == TensorProto.FLOAT


def test_nothing_but_the_convolutions_is_cast(fp16: onnx.ModelProto) -> None:
    casts = [node for node in fp16.graph.node if node.op_type == "Cast"]
    assert len(casts) == 3  # the bytes, into the convolutions, and out of them


def test_it_answers_as_its_parent_does(
    prepared: onnx.ModelProto, fp16: onnx.ModelProto, portraits: NDArray[np.uint8]
) -> None:
    before, after = (
        open_session(model.SerializeToString()).run(["probabilities"], {"faces": portraits[:64]})[0]
        for model in (prepared, fp16)
    )
    np.testing.assert_allclose(before, after, atol=5e-3)
    assert not np.array_equal(before, after)


def test_it_keeps_tensorrts_rules_and_is_half_as_large(
    prepared: onnx.ModelProto, fp16: onnx.ModelProto
) -> None:
    assert tensorrt_problems(fp16) == ()
    assert fp16.ByteSize() < 0.51 * prepared.ByteSize()


def scale_first_weights(fp32: Artifact, largest: float) -> onnx.ModelProto:
    model = onnx.load(fp32.path)
    tensor = next(each for each in model.graph.initializer if each.name == "conv1.weight")
    weights = numpy_helper.to_array(tensor)
    scaled = (largest * weights / np.abs(weights).max()).astype(np.float32)
    tensor.CopyFrom(numpy_helper.from_array(scaled, tensor.name))
    return prepare(model)


def test_weights_that_fp16_cannot_hold_are_named(fp32: Artifact) -> None:
    with pytest.raises(RankotomError, match=r"conv1\.weight.*too large for FP16"):
        convert_to_fp16(scale_first_weights(fp32, 1e6))


def test_activations_that_fp16_cannot_hold_are_refused(
    fp32: Artifact, prepared: onnx.ModelProto, portraits: NDArray[np.uint8]
) -> None:
    check_activations_fit(prepared, portraits[:32])
    with pytest.raises(RankotomError, match=r"reaches [\d,]+ on these faces.*FP16 can hold"):
        check_activations_fit(scale_first_weights(fp32, 3e4), portraits[:32])
