"""A graph is held to TensorRT's rules, and each rule catches the graph that breaks it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from export.tensorrt.graph_rules import tensorrt_problems
from rankotom_edge.model.artifact import EMBEDDED, INPUT

FP32 = EMBEDDED / "ferplus-fp32.onnx"


class Noise:
    """What ONNX Runtime calibrates on."""

    def __init__(self) -> None:
        random = np.random.default_rng(0)
        self.left = [random.integers(0, 256, (4, 1, 48, 48), dtype=np.uint8)]

    def get_next(self) -> dict[str, np.ndarray] | None:
        return {INPUT: self.left.pop()} if self.left else None


Quantize = Callable[..., onnx.ModelProto]


@pytest.fixture(scope="module")
def quantized(tmp_path_factory: pytest.TempPathFactory) -> Quantize:
    # Here, after rankotom_edge.model.onnx_runtime has switched off ONNX Runtime's telemetry.
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    folder: Path = tmp_path_factory.mktemp("quantized")
    quant_pre_process(str(FP32), str(folder / "prepared.onnx"), skip_symbolic_shape=True)

    def make(activations: str = "QInt8", **options: bool) -> onnx.ModelProto:
        for_tensorrt = {"ActivationSymmetric": True, "WeightSymmetric": True, "QuantizeBias": False}
        quantize_static(
            str(folder / "prepared.onnx"),
            str(folder / "quantized.onnx"),
            Noise(),
            quant_format=QuantFormat.QDQ,
            per_channel=True,
            activation_type=QuantType[activations],
            weight_type=QuantType.QInt8,
            op_types_to_quantize=["Conv", "Add"],
            extra_options=for_tensorrt | options,
        )
        return onnx.load(folder / "quantized.onnx")

    return make


@pytest.fixture(scope="module")
def good(quantized: Quantize) -> onnx.ModelProto:
    return quantized()


@pytest.fixture
def model(good: onnx.ModelProto) -> onnx.ModelProto:
    """A graph that keeps the rules, to break."""
    copy = onnx.ModelProto()
    copy.CopyFrom(good)
    return copy


def first(model: onnx.ModelProto, operator: str) -> onnx.NodeProto:
    return next(node for node in model.graph.node if node.op_type == operator)


def replace_constant(model: onnx.ModelProto, name: str, value: np.ndarray) -> None:
    (held,) = (each for each in model.graph.initializer if each.name == name)
    held.CopyFrom(numpy_helper.from_array(value, name))


def constant(model: onnx.ModelProto, name: str) -> np.ndarray:
    (held,) = (each for each in model.graph.initializer if each.name == name)
    return numpy_helper.to_array(held).copy()


def insert_before(model: onnx.ModelProto, node: onnx.NodeProto, *inserted: onnx.NodeProto) -> None:
    place = list(model.graph.node).index(node)
    for each in reversed(inserted):
        model.graph.node.insert(place, each)


def test_the_embedded_fp32_model_keeps_the_rules() -> None:
    assert tensorrt_problems(onnx.load(FP32)) == ()


def test_a_symmetric_graph_with_float_biases_keeps_the_rules(good: onnx.ModelProto) -> None:
    assert first(good, "QuantizeLinear")
    assert tensorrt_problems(good) == ()


def test_biases_of_int32_are_caught_one_for_each_convolution(quantized: Quantize) -> None:
    problems = tensorrt_problems(quantized(QuantizeBias=True))
    assert len(problems) == 23  # three shortcuts have no bias
    assert problems[0] == (
        "DequantizeLinear blocks.0.conv1.bias_DequantizeLinear dequantizes int32, as for a bias; "
        "TensorRT supports float biases only (QuantizeBias=False)."
    )


def test_zero_points_that_are_not_0_are_caught(quantized: Quantize) -> None:
    problems = tensorrt_problems(quantized(ActivationSymmetric=False))
    assert problems
    assert all("has a zero point of " in problem for problem in problems)
    assert any(
        problem.startswith("QuantizeLinear /pool/MaxPool_output_0_QuantizeLinear has a zero point")
        for problem in problems
    )
    assert any(problem.startswith("DequantizeLinear ") for problem in problems)


def test_unsigned_activations_are_caught(quantized: Quantize) -> None:
    problems = tensorrt_problems(quantized("QUInt8"))
    node = "QuantizeLinear /MatMul_1_output_0_QuantizeLinear"
    assert f"{node} is of uint8; TensorRT quantizes to int8 only." in problems


def test_one_zero_point_among_many_channels_is_caught(model: onnx.ModelProto) -> None:
    weights = next(
        node
        for node in model.graph.node
        if node.op_type == "DequantizeLinear" and constant(model, node.input[1]).size > 1
    )
    points = constant(model, weights.input[2])
    points[3] = 5
    replace_constant(model, weights.input[2], points)
    assert tensorrt_problems(model) == (
        f"DequantizeLinear {weights.name} has a zero point of 5; TensorRT quantizes around 0.",
    )


def test_a_quantizer_without_a_zero_point_is_one_to_uint8(model: onnx.ModelProto) -> None:
    node = first(model, "QuantizeLinear")
    del node.input[2:]
    reader = next(each for each in model.graph.node if node.output[0] in each.input)
    del reader.input[2:]
    assert tensorrt_problems(model) == tuple(
        f"{each.op_type} {each.name} is of uint8; TensorRT quantizes to int8 only."
        for each in (node, reader)
    )


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan])
def test_a_scale_that_is_not_above_0_is_caught(model: onnx.ModelProto, scale: float) -> None:
    node = first(model, "QuantizeLinear")
    replace_constant(model, node.input[1], np.array(scale, np.float32))
    assert f"QuantizeLinear {node.name} has a scale that is not above 0." in tensorrt_problems(
        model
    )


def test_a_scale_for_each_channel_of_an_activation_is_caught(model: onnx.ModelProto) -> None:
    node = first(model, "QuantizeLinear")
    replace_constant(model, node.input[1], np.full(1, 0.1, np.float32))
    assert tensorrt_problems(model) == ()
    replace_constant(model, node.input[1], np.full(7, 0.1, np.float32))
    replace_constant(model, node.input[2], np.zeros(7, np.int8))
    assert any(
        problem.startswith(f"QuantizeLinear {node.name} has a scale for each channel")
        for problem in tensorrt_problems(model)
    )


@pytest.mark.parametrize("opset", [12, 21])
def test_other_opsets_are_caught(model: onnx.ModelProto, opset: int) -> None:
    """Up to 17 nothing else changes; at 21 ReduceMean and Split do as well, so without them."""
    graph = helper.make_graph(
        [helper.make_node("Cast", [INPUT], ["logits"], "cast", to=TensorProto.FLOAT)],
        "small",
        [helper.make_tensor_value_info(INPUT, TensorProto.UINT8, ["n", 1, 48, 48])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 1, 48, 48])],
    )
    small = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    assert tensorrt_problems(small) == (
        f"Its opset is {opset}; quantized graphs for TensorRT need one from 13 to 20.",
    )


def test_a_quantized_graph_moved_to_opset_21_is_caught(model: onnx.ModelProto) -> None:
    newer = onnx.version_converter.convert_version(model, 21)
    assert (
        "Its opset is 21; quantized graphs for TensorRT need one from 13 to 20."
        in tensorrt_problems(newer)
    )


@pytest.mark.parametrize(
    ("operator", "domain", "words"),
    [
        ("Selu", "", " is not among the operators that TensorRT is known to support."),
        ("Gelu", "com.microsoft", " is of the domain com.microsoft, which TensorRT does not have."),
    ],
)
def test_other_operators_are_caught(
    model: onnx.ModelProto, operator: str, domain: str, words: str
) -> None:
    node = first(model, "Relu")
    node.op_type, node.domain = operator, domain
    assert f"{operator} {node.name}{words}" in tensorrt_problems(model)


def test_an_input_that_is_not_cast_to_float_at_once_is_caught(model: onnx.ModelProto) -> None:
    cast = first(model, "Cast")
    cast.attribute[0].i = TensorProto.INT32
    inserted = helper.make_node("Cast", ["whole"], [cast.output[0]], "again", to=TensorProto.FLOAT)
    cast.output[0] = "whole"
    insert_before(model, first(model, "Div"), inserted)
    assert tensorrt_problems(model) == (
        "Cast /Cast reads the uint8 input faces; in TensorRT only a Cast to float may do that.",
    )


def test_computing_with_uint8_is_caught(model: onnx.ModelProto) -> None:
    cast = first(model, "Cast")
    turned = helper.make_node("Identity", [INPUT], ["same"], "same")
    cast.input[0] = "same"
    insert_before(model, cast, turned)
    assert tensorrt_problems(model) == (
        "Identity same reads the uint8 input faces; in TensorRT only a Cast to float may do that.",
        "Identity same returns same, which is uint8; TensorRT does not compute with that.",
    )


def test_float64_is_caught_where_it_comes_from(model: onnx.ModelProto) -> None:
    divide = first(model, "Div")
    wide = [
        helper.make_node("Cast", [divide.input[0]], ["wide"], "widen", to=TensorProto.DOUBLE),
        helper.make_node("Cast", ["wide"], ["narrow"], "narrow", to=TensorProto.FLOAT),
    ]
    divide.input[0] = "narrow"
    insert_before(model, divide, *wide)
    assert tensorrt_problems(model) == (
        "Cast widen returns wide, which is float64; TensorRT does not compute with that.",
    )


def test_types_that_contradict_each_other_are_caught(model: onnx.ModelProto) -> None:
    first(model, "Cast").attribute[0].i = TensorProto.FLOAT16
    (problem,) = tensorrt_problems(model)
    assert problem.startswith("Its types and shapes do not follow from its inputs: ")
    assert "\n" not in problem


def test_a_graph_out_of_order_is_caught(model: onnx.ModelProto) -> None:
    """As ONNX Runtime's FP16 converter leaves it."""
    last = model.graph.node.pop()
    model.graph.node.insert(0, last)
    (problem,) = tensorrt_problems(model)
    assert problem.startswith(
        "It is not a valid ONNX graph: Nodes in a graph must be topologically"
    )
    assert last.name in problem
    assert "\n" not in problem


@pytest.mark.parametrize("at", [2, 3])
def test_an_open_dimension_is_caught(at: int) -> None:
    model = onnx.load(FP32)
    model.graph.input[0].type.tensor_type.shape.dim[at].dim_param = "any"
    problems = tensorrt_problems(model)
    assert problems[0] == "faces has another open dimension than the number of faces."
    assert any(
        problem.startswith("Cast /Cast returns /Cast_output_0, which has") for problem in problems
    )


def test_what_an_unknown_operator_returns_has_no_type(model: onnx.ModelProto) -> None:
    node = first(model, "Relu")
    node.op_type, node.domain = "Riddle", "com.microsoft"
    assert (
        f"Riddle {node.name} returns {node.output[0]}, which has a type that cannot be inferred."
    ) in tensorrt_problems(model)


def test_types_noted_in_the_graph_are_ignored(model: onnx.ModelProto) -> None:
    """They may be those of an earlier graph."""
    node = first(model, "Relu")
    node.op_type, node.domain = "Riddle", "com.microsoft"
    model.graph.value_info.append(
        helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, ["n", 32, 24, 24])
    )
    assert any(
        "has a type that cannot be inferred" in problem for problem in tensorrt_problems(model)
    )
