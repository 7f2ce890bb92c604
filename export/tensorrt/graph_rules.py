"""TensorRT's rules for an ONNX graph, checked where there is no TensorRT.

From NVIDIA's table of operators (onnx-tensorrt, docs/operators.md, TensorRT 10.0 to 10.15) and its
documentation of data types. They also hold for TensorRT 11, which takes strongly typed networks
only.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import onnx
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper, shape_inference

from rankotom_edge.model.graph_content import OPERATORS

# 13 is the first with a scale for each channel; 20 is the last that ONNX Runtime quantizes and
# TensorRT 10.0 parses.
OPSETS = range(13, 21)
QUANTIZERS = ("QuantizeLinear", "DequantizeLinear")
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16)
TYPES = (*FLOATS, TensorProto.INT8, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL)


def tensorrt_problems(model: onnx.ModelProto) -> tuple[str, ...]:
    """A sentence for each broken rule, with the node that breaks it."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    # Drop the shapes and types that another program noted; TensorRT infers its own.
    del bare.graph.value_info[:]
    try:
        onnx.checker.check_model(bare)
        inferred = shape_inference.infer_shapes(
            bare, check_type=True, strict_mode=True, data_prop=True
        )
    except onnx.checker.ValidationError as error:
        return (f"It is not a valid ONNX graph: {_one_line(error)}",)
    except shape_inference.InferenceError as error:
        return (f"Its types and shapes do not follow from its inputs: {_one_line(error)}",)
    graph = InferredGraph(inferred)
    return (
        *_opset_problems(model),
        *_operator_problems(graph),
        *_quantizer_problems(graph),
        *_input_problems(graph),
        *_type_problems(graph),
        *_shape_problems(graph),
    )


@dataclass(frozen=True, eq=False)
class InferredGraph:
    """A graph with inferred types and shapes, and its tensors by name."""

    model: onnx.ModelProto

    @property
    def nodes(self) -> Iterator[NodeProto]:
        yield from self.model.graph.node

    @cached_property
    def constants(self) -> Mapping[str, TensorProto]:
        constants = {tensor.name: tensor for tensor in self.model.graph.initializer}
        for node in self.nodes:
            for attribute in node.attribute:
                if node.op_type == "Constant" and attribute.name == "value":
                    constants[node.output[0]] = attribute.t
        return constants

    @cached_property
    def tensors(self) -> Mapping[str, ValueInfoProto]:
        graph = self.model.graph
        return {info.name: info for info in (*graph.value_info, *graph.input, *graph.output)}

    @cached_property
    def weights(self) -> set[str]:
        """Tensors that do not depend on the faces: constants, and quantized constants."""
        quantized = (
            node.output[0]
            for node in self.nodes
            if node.op_type == "QuantizeLinear" and node.input[0] in self.constants
        )
        return {*self.constants, *quantized}

    @property
    def inputs(self) -> Iterator[ValueInfoProto]:
        """Without initializers, which older files list as inputs too."""
        yield from (info for info in self.model.graph.input if info.name not in self.constants)

    @cached_property
    def uint8_inputs(self) -> set[str]:
        return {info.name for info in self.inputs if self.type_of(info.name) == TensorProto.UINT8}

    def type_of(self, tensor: str) -> int:
        if tensor in self.constants:
            return self.constants[tensor].data_type
        info = self.tensors.get(tensor)
        return info.type.tensor_type.elem_type if info is not None else TensorProto.UNDEFINED

    def array(self, tensor: str) -> NDArray[Any] | None:
        constant = self.constants.get(tensor)
        return None if constant is None else numpy_helper.to_array(constant)


def _opset_problems(model: onnx.ModelProto) -> Iterator[str]:
    for opset in model.opset_import:
        if opset.domain in ("", "ai.onnx") and opset.version not in OPSETS:
            yield (
                f"Its opset is {opset.version}; quantized graphs for TensorRT need one from "
                f"{OPSETS[0]} to {OPSETS[-1]}."
            )


def _operator_problems(graph: InferredGraph) -> Iterator[str]:
    for node in graph.nodes:
        if node.domain not in ("", "ai.onnx"):
            yield f"{_title(node)} is of the domain {node.domain}, which TensorRT does not have."
        elif node.op_type not in OPERATORS:
            yield f"{_title(node)} is not among the operators that TensorRT is known to support."


def _quantizer_problems(graph: InferredGraph) -> Iterator[str]:
    """Activations can only be symmetric, signed 8-bit integers."""
    for node in graph.nodes:
        if node.op_type in QUANTIZERS:
            yield from _scale_problems(graph, node)
            yield from _zero_point_problems(graph, node)


def _scale_problems(graph: InferredGraph, node: NodeProto) -> Iterator[str]:
    scale = graph.array(node.input[1])
    if scale is None:
        yield f"{_title(node)} computes its scale; TensorRT needs a constant."
    elif not (scale > 0).all():
        # onnx-tensorrt #764. Percentile calibration gives 0 for a layer that is always 0.
        yield f"{_title(node)} has a scale that is not above 0."
    elif scale.size > 1 and node.input[0] not in graph.weights:
        yield (
            f"{_title(node)} has a scale for each channel of an activation; TensorRT supports that "
            "for weights only."
        )


def _zero_point_problems(graph: InferredGraph, node: NodeProto) -> Iterator[str]:
    integers = node.output[0] if node.op_type == "QuantizeLinear" else node.input[0]
    found = graph.type_of(integers)
    if found == TensorProto.INT32:
        # onnx-tensorrt #850: ONNX Runtime quantizes biases to int32.
        yield (
            f"{_title(node)} dequantizes int32, as for a bias; TensorRT supports float biases only "
            "(QuantizeBias=False)."
        )
    elif found != TensorProto.INT8:
        yield f"{_title(node)} is of {_type_name(found)}; TensorRT quantizes to int8 only."
    if len(node.input) > 2 and node.input[2]:
        zero_point = graph.array(node.input[2])
        if zero_point is None:
            yield f"{_title(node)} computes its zero point; TensorRT needs a constant of 0."
        elif (zero_point != 0).any():
            worst = zero_point[zero_point != 0].flat[0]
            yield f"{_title(node)} has a zero point of {worst}; TensorRT quantizes around 0."


def _input_problems(graph: InferredGraph) -> Iterator[str]:
    """A uint8 input must be cast to float at once: TensorRT converts uint8 to nothing else."""
    for node in graph.nodes:
        for name in sorted(graph.uint8_inputs.intersection(node.input)):
            to = next((each.i for each in node.attribute if each.name == "to"), None)
            if node.op_type != "Cast" or to not in FLOATS:
                yield (
                    f"{_title(node)} reads the uint8 input {name}; in TensorRT only a Cast to "
                    "float may do that."
                )


def _type_problems(graph: InferredGraph) -> Iterator[str]:
    for info in graph.inputs:
        if info.name not in graph.uint8_inputs:
            yield from _type_problem(graph, info.name, f"The input {info.name}")
    for node in graph.nodes:
        if node.op_type in QUANTIZERS:
            continue  # they have rules of their own
        for name in node.input:
            if name in graph.constants:
                yield from _type_problem(graph, name, f"{_title(node)} uses {name}, which")
        if node.op_type != "Constant":
            for name in node.output:
                yield from _type_problem(graph, name, f"{_title(node)} returns {name}, which")


def _type_problem(graph: InferredGraph, tensor: str, subject: str) -> Iterator[str]:
    found = graph.type_of(tensor)
    if tensor and found == TensorProto.UNDEFINED:
        yield f"{subject} has a type that cannot be inferred."
    elif tensor and found not in TYPES:
        yield f"{subject} is {_type_name(found)}; TensorRT does not compute with that."


def _shape_problems(graph: InferredGraph) -> Iterator[str]:
    """All dimensions are fixed except the number of faces; inside the graph any one may vary with
    it."""
    for info in (*graph.inputs, *graph.model.graph.output):
        if not _known_rank(info):
            yield f"The shape of {info.name} is not known."
        elif any(number is None for number in _dimensions(info)[1:]):
            yield f"{info.name} has another open dimension than the number of faces."
    for node in graph.nodes:
        for name in node.output:
            inside = graph.tensors.get(name)
            if inside is not None and not _known_rank(inside):
                yield f"{_title(node)} returns {name}, whose shape cannot be inferred."
            elif inside is not None and _dimensions(inside).count(None) > 1:
                yield f"{_title(node)} returns {name}, which has more than one open dimension."


def _known_rank(info: ValueInfoProto) -> bool:
    return bool(info.type.tensor_type.HasField("shape"))


def _dimensions(info: ValueInfoProto) -> list[int | None]:
    dimensions = info.type.tensor_type.shape.dim
    return [each.dim_value if each.HasField("dim_value") else None for each in dimensions]


def _title(node: NodeProto) -> str:
    return f"{node.op_type} {node.name or node.output[0]}"


def _type_name(elem_type: int) -> str:
    """In numpy's words: float64, not DOUBLE."""
    if elem_type == TensorProto.UNDEFINED:
        return "an unknown type"
    return helper.tensor_dtype_to_np_dtype(elem_type).name


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
