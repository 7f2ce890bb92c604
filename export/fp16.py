"""From FP32 to FP16, for GPUs: the convolutions and what is between them, and nothing else.

Input, outputs, head, softmax and temperature stay as they are. Our own, because ONNX Runtime's
converter sends what it is told to leave alone through FP16 and back.
"""

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from calib.errors import RankotomError
from export.int8 import layers

HALF = ".fp16"


def halved(model: onnx.ModelProto) -> onnx.ModelProto:
    """Of a prepared model, with a cast where a tensor enters the convolutions or leaves them."""
    names = {node for nodes in layers(model).values() for node in nodes}
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    inside = [node for node in graph.node if node.name in names]
    used = {given for node in inside for given in node.input}
    for initializer in graph.initializer:
        if initializer.name in used:
            whole = numpy_helper.to_array(initializer)
            if np.abs(whole).max(initial=0.0) > np.finfo(np.float16).max:
                raise RankotomError(
                    f"{initializer.name} holds numbers that are too large for FP16. Quantize the "
                    "model to INT8 instead."
                )
            values = whole.astype(np.float16)
            initializer.CopyFrom(numpy_helper.from_array(values, initializer.name))
    made = {output for node in inside for output in node.output}
    entering = used - made - {initializer.name for initializer in graph.initializer}
    for node in inside:
        node.input[:] = [_half(name) if name in entering | made else name for name in node.input]
        node.output[:] = [_half(name) for name in node.output]
    needed = {given for node in graph.node for given in node.input} & made

    nodes: list[NodeProto] = []
    for node in graph.node:
        nodes.append(node)
        for name in node.output:
            if name in entering:
                nodes.append(_cast(name, _half(name), TensorProto.FLOAT16))
            whole = name.removesuffix(HALF)
            if whole != name and whole in needed:
                nodes.append(_cast(name, whole, TensorProto.FLOAT))
    del graph.node[:], graph.value_info[:]
    graph.node.extend(nodes)
    onnx.checker.check_model(result, full_check=True)
    return result


def _half(name: str) -> str:
    return f"{name}{HALF}"


def _cast(given: str, wanted: str, kind: int) -> NodeProto:
    return helper.make_node("Cast", [given], [wanted], name=f"{wanted}.cast", to=kind)
