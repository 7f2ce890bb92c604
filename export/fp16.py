"""Convert the convolutions of an FP32 model to FP16, for GPUs.

Input, outputs, head, softmax and temperature stay in FP32. ONNX Runtime's own converter is not
used: it converts even the nodes that it is asked to leave in FP32 to FP16 and back.
"""

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from calib.errors import RankotomError
from export.int8 import S8S8, activation_ranges, find_layers

SUFFIX = ".fp16"
LARGEST = float(np.finfo(np.float16).max)


def convert_to_fp16(model: onnx.ModelProto) -> onnx.ModelProto:
    """Convert a prepared model, with a Cast where a tensor enters or leaves the convolutions."""
    names = {node for nodes in find_layers(model).values() for node in nodes}
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    inside = [node for node in graph.node if node.name in names]
    inputs = {name for node in inside for name in node.input}
    for initializer in graph.initializer:
        if initializer.name in inputs:
            values = numpy_helper.to_array(initializer)
            if np.abs(values).max(initial=0.0) > LARGEST:
                raise RankotomError(
                    f"{initializer.name} holds numbers that are too large for FP16. Quantize the "
                    "model to INT8 instead."
                )
            initializer.CopyFrom(
                numpy_helper.from_array(values.astype(np.float16), initializer.name)
            )
    outputs = {name for node in inside for name in node.output}
    entering = inputs - outputs - {initializer.name for initializer in graph.initializer}
    for node in inside:
        node.input[:] = [
            _fp16_name(name) if name in entering | outputs else name for name in node.input
        ]
        node.output[:] = [_fp16_name(name) for name in node.output]
    leaving = {name for node in graph.node for name in node.input} & outputs

    nodes: list[NodeProto] = []
    for node in graph.node:
        nodes.append(node)
        for name in node.output:
            if name in entering:
                nodes.append(_cast(name, _fp16_name(name), TensorProto.FLOAT16))
            fp32_name = name.removesuffix(SUFFIX)
            if fp32_name != name and fp32_name in leaving:
                nodes.append(_cast(name, fp32_name, TensorProto.FLOAT))
    del graph.node[:], graph.value_info[:]
    graph.node.extend(nodes)
    onnx.checker.check_model(result, full_check=True)
    return result


def check_activations_fit(model: onnx.ModelProto, faces: NDArray[np.uint8]) -> None:
    """Refuse a model that would overflow on a GPU.

    The gate cannot see it: a CPU computes the FP16 graph in FP32.
    """
    largest, tensor = max(
        (float(np.abs(np.array(span.range_value)).max()), name)
        for name, span in activation_ranges(model, faces, "minmax", S8S8).items()
    )
    if largest > LARGEST / 2:  # other faces may give larger numbers
        raise RankotomError(
            f"{tensor} reaches {largest:,.0f} on these faces, too near to what FP16 can hold "
            f"({LARGEST:,.0f}). Quantize the model to INT8 instead."
        )


def _fp16_name(name: str) -> str:
    return f"{name}{SUFFIX}"


def _cast(source: str, result: str, kind: int) -> NodeProto:
    return helper.make_node("Cast", [source], [result], name=f"{result}.cast", to=kind)
