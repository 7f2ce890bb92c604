"""TensorRT's rules for an ONNX graph, so that a broken one is not first heard of on the device.

From NVIDIA's table of operators (onnx-tensorrt, docs/operators.md, TensorRT 10.0 to 10.15) and the
documentation of its data types. They hold for 11 as well, which only takes strongly typed networks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import onnx
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper, shape_inference

# 13 is the first with a scale for each channel; ONNX Runtime quantizes up to 20, as does 10.0.
OPSETS = range(13, 21)
QUANTIZERS = ("QuantizeLinear", "DequantizeLinear")
# What our graphs may be made of: each in NVIDIA's table, without a restriction that we could break.
OPERATORS = {
    "Add", "AveragePool", "Cast", "Clip", "Concat", "Constant", "Conv", "Div", "Flatten", "Gather",
    "Gemm", "GlobalAveragePool", "Identity", "MatMul", "Max", "MaxPool", "Mul", "ReduceMean",
    "Relu", "Reshape", "Softmax", "Split", "Squeeze", "Sub", "Transpose", "Unsqueeze", *QUANTIZERS,
}  # fmt: skip
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16)
TYPES = (*FLOATS, TensorProto.INT8, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL)


def tensorrt_problems(model: onnx.ModelProto) -> tuple[str, ...]:
    """A sentence for each rule that the graph breaks, with the node that breaks it."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    # What another program wrote down inside the graph; TensorRT works it out for itself.
    del bare.graph.value_info[:]
    try:
        onnx.checker.check_model(bare)
        inferred = shape_inference.infer_shapes(
            bare, check_type=True, strict_mode=True, data_prop=True
        )
    except onnx.checker.ValidationError as error:
        return (f"It is no valid ONNX graph: {_one_line(error)}",)
    except shape_inference.InferenceError as error:
        return (f"Its types and shapes do not follow from its inputs: {_one_line(error)}",)
    graph = Graph(inferred)
    return (
        *_opset_problems(model),
        *_operator_problems(graph),
        *_quantizer_problems(graph),
        *_input_problems(graph),
        *_type_problems(graph),
        *_shape_problems(graph),
    )


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph whose types and shapes were inferred, with its tensors by name."""

    model: onnx.ModelProto

    @property
    def nodes(self) -> Iterator[NodeProto]:
        yield from self.model.graph.node

    @cached_property
    def constants(self) -> Mapping[str, TensorProto]:
        held = {tensor.name: tensor for tensor in self.model.graph.initializer}
        for node in self.nodes:
            for attribute in node.attribute:
                if node.op_type == "Constant" and attribute.name == "value":
                    held[node.output[0]] = attribute.t
        return held

    @cached_property
    def tensors(self) -> Mapping[str, ValueInfoProto]:
        graph = self.model.graph
        return {info.name: info for info in (*graph.value_info, *graph.input, *graph.output)}

    @cached_property
    def weights(self) -> set[str]:
        """What is known before any face is seen: constants, and constants quantized."""
        quantized = (
            node.output[0]
            for node in self.nodes
            if node.op_type == "QuantizeLinear" and node.input[0] in self.constants
        )
        return {*self.constants, *quantized}

    @property
    def fed(self) -> Iterator[ValueInfoProto]:
        """The inputs, without initializers, which older files list among them."""
        yield from (info for info in self.model.graph.input if info.name not in self.constants)

    @cached_property
    def bytes_fed(self) -> set[str]:
        return {info.name for info in self.fed if self.type_of(info.name) == TensorProto.UINT8}

    def type_of(self, tensor: str) -> int:
        if tensor in self.constants:
            return self.constants[tensor].data_type
        info = self.tensors.get(tensor)
        return info.type.tensor_type.elem_type if info is not None else TensorProto.UNDEFINED

    def array(self, tensor: str) -> NDArray[Any] | None:
        held = self.constants.get(tensor)
        return None if held is None else numpy_helper.to_array(held)


def _opset_problems(model: onnx.ModelProto) -> Iterator[str]:
    for opset in model.opset_import:
        if opset.domain in ("", "ai.onnx") and opset.version not in OPSETS:
            yield (
                f"Its opset is {opset.version}; quantized graphs for TensorRT are of "
                f"{OPSETS[0]} to {OPSETS[-1]}."
            )


def _operator_problems(graph: Graph) -> Iterator[str]:
    for node in graph.nodes:
        if node.domain not in ("", "ai.onnx"):
            yield f"{_named(node)} is of the domain {node.domain}, which TensorRT does not know."
        elif node.op_type not in OPERATORS:
            yield f"{_named(node)} is not among the operators that TensorRT is known to take."


def _quantizer_problems(graph: Graph) -> Iterator[str]:
    """Symmetric, signed, 8 bits: the only scheme for integers that has activations in it."""
    for node in graph.nodes:
        if node.op_type in QUANTIZERS:
            yield from _scale_problems(graph, node)
            yield from _zero_point_problems(graph, node)


def _scale_problems(graph: Graph, node: NodeProto) -> Iterator[str]:
    scale = graph.array(node.input[1])
    if scale is None:
        yield f"{_named(node)} computes its scale; TensorRT needs a constant."
    elif not (scale > 0).all():
        # onnx-tensorrt #764; percentile calibration can do it to a layer that is always silent.
        yield f"{_named(node)} has a scale that is not above 0."
    elif scale.size > 1 and node.input[0] not in graph.weights:
        yield (
            f"{_named(node)} has a scale for each channel of an activation; TensorRT takes one for "
            "the whole tensor, and channels for weights only."
        )


def _zero_point_problems(graph: Graph, node: NodeProto) -> Iterator[str]:
    integers = node.output[0] if node.op_type == "QuantizeLinear" else node.input[0]
    found = graph.type_of(integers)
    if found == TensorProto.INT32:
        # onnx-tensorrt #850: ONNX Runtime's way with biases.
        yield (
            f"{_named(node)} turns int32 into floats, as for a bias; TensorRT takes float biases "
            "only (QuantizeBias=False)."
        )
    elif found != TensorProto.INT8:
        yield f"{_named(node)} is of {_type_name(found)}; TensorRT quantizes to int8 only."
    if len(node.input) > 2 and node.input[2]:
        zero_point = graph.array(node.input[2])
        if zero_point is None:
            yield f"{_named(node)} computes its zero point; TensorRT needs a constant of 0."
        elif (zero_point != 0).any():
            worst = zero_point[zero_point != 0].flat[0]
            yield f"{_named(node)} has a zero point of {worst}; TensorRT quantizes around 0."


def _input_problems(graph: Graph) -> Iterator[str]:
    """Bytes may come in, and must become floats at once: uint8 converts to nothing else."""
    for node in graph.nodes:
        for name in sorted(graph.bytes_fed.intersection(node.input)):
            to = next((held.i for held in node.attribute if held.name == "to"), None)
            if node.op_type != "Cast" or to not in FLOATS:
                yield (
                    f"{_named(node)} takes the bytes of {name}; in TensorRT only a Cast to float "
                    "may do that."
                )


def _type_problems(graph: Graph) -> Iterator[str]:
    for info in graph.fed:
        if info.name not in graph.bytes_fed:
            yield from _type_problem(graph, info.name, f"The input {info.name}")
    for node in graph.nodes:
        if node.op_type in QUANTIZERS:
            continue  # told by their own rules
        for name in node.input:
            if name in graph.constants:
                yield from _type_problem(graph, name, f"{_named(node)} uses {name}, which")
        if node.op_type != "Constant":
            for name in node.output:
                yield from _type_problem(graph, name, f"{_named(node)} gives {name}, which")


def _type_problem(graph: Graph, tensor: str, subject: str) -> Iterator[str]:
    found = graph.type_of(tensor)
    if tensor and found == TensorProto.UNDEFINED:
        yield f"{subject} has no type that could be inferred."
    elif tensor and found not in TYPES:
        yield f"{subject} is {_type_name(found)}; TensorRT does not compute with that."


def _shape_problems(graph: Graph) -> Iterator[str]:
    """Fixed but for the number of faces, which may be any one dimension inside the graph."""
    for info in (*graph.fed, *graph.model.graph.output):
        if not _known_rank(info):
            yield f"The shape of {info.name} is not known."
        elif any(number is None for number in _dimensions(info)[1:]):
            yield f"{info.name} has a shape that is open beyond the number of faces."
    for node in graph.nodes:
        for name in node.output:
            inside = graph.tensors.get(name)
            if inside is not None and not _known_rank(inside):
                yield f"{_named(node)} gives {name}, whose shape cannot be inferred."
            elif inside is not None and _dimensions(inside).count(None) > 1:
                yield f"{_named(node)} gives {name}, open beyond the number of faces."


def _known_rank(info: ValueInfoProto) -> bool:
    return bool(info.type.tensor_type.HasField("shape"))


def _dimensions(info: ValueInfoProto) -> list[int | None]:
    dimensions = info.type.tensor_type.shape.dim
    return [each.dim_value if each.HasField("dim_value") else None for each in dimensions]


def _named(node: NodeProto) -> str:
    return f"{node.op_type} {node.name or node.output[0]}"


def _type_name(elem_type: int) -> str:
    """As numpy calls it: float64, not DOUBLE."""
    if elem_type == TensorProto.UNDEFINED:
        return "an unknown type"
    return helper.tensor_dtype_to_np_dtype(elem_type).name


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
