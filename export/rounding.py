"""Round a convolution's weights so that its output changes least.

Rounded one by one to the nearest integer, the errors of a filter's weights add up where its inputs
are correlated, and neighbouring pixels are. Here they are rounded in turn, and the weights that are
left make up for the error so far, given the inputs that real faces cause (GPTQ, Frantar et al.
2023). Scales and ranges stay those of ONNX Runtime's quantizer.
"""

import copy
from collections.abc import Collection
from typing import Any

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from onnx import NodeProto, helper, numpy_helper

from export.int8 import sample_evenly
from export.predict import BATCH
from rankotom_edge.model.artifact import INPUT
from rankotom_edge.model.onnx_runtime import open_session

FACES = 256  # chosen by eye: 4,608 places and more for each filter
DAMPING = 0.01  # of the mean square of the inputs; as in the paper

# Both by the name of a convolution
Weights = dict[str, NDArray[np.float32]]
Moments = dict[str, NDArray[np.float64]]


class WeightRounding:
    """The rounded weights of a prepared FP32 model; each layer's are computed once."""

    def __init__(
        self, model: onnx.ModelProto, layers: Collection[str], faces: NDArray[np.uint8]
    ) -> None:
        self._weights = convolution_weights(model, layers)
        self._moments = measure_inputs(model, self._weights, sample_evenly(faces, FACES))
        self._rounded: dict[str, NDArray[np.int8]] = {}

    def apply(self, quantized: onnx.ModelProto) -> None:
        """Round the weights of the quantized layers again, in place."""
        stored = {each.name: each for each in quantized.graph.initializer}
        sources = {name: node for node in quantized.graph.node for name in node.output}
        for node in quantized.graph.node:
            source = sources.get(node.input[1]) if node.name in self._weights else None
            if source is None or source.op_type != "DequantizeLinear":
                continue  # in FP32
            integers, scale = (stored[name] for name in source.input[:2])
            if node.name not in self._rounded:
                self._rounded[node.name] = self._round(
                    node.name, numpy_helper.to_array(integers), numpy_helper.to_array(scale)
                )
            integers.CopyFrom(numpy_helper.from_array(self._rounded[node.name], integers.name))

    def _round(
        self, layer: str, nearest: NDArray[np.int8], scale: NDArray[np.float32]
    ) -> NDArray[np.int8]:
        weights = self._weights[layer]
        scaled = weights.reshape(len(weights), -1) / scale.reshape(-1, 1)
        limits = int(nearest.min()), int(nearest.max())
        rounded = round_together(scaled, self._moments[layer], limits)
        return rounded.astype(np.int8).reshape(weights.shape)


def round_together(
    weights: NDArray[np.float32], moments: NDArray[np.float64], limits: tuple[int, int]
) -> NDArray[np.float32]:
    """Integers near the weights (filters, k), whose products with the inputs are near too."""
    left = weights.copy()
    mean = max(float(np.diag(moments).mean()), 1e-9)  # a layer's inputs may all be 0
    damped = moments + DAMPING * mean * np.eye(len(moments))
    # Row i says how the weights after weight i make up for its error.
    upper = np.linalg.cholesky(np.linalg.inv(damped)).T.astype(np.float32)
    for place, row in enumerate(upper):
        whole = left[:, place].round().clip(*limits)
        error = (left[:, place] - whole) / row[place]
        left[:, place + 1 :] -= error[:, None] * row[place + 1 :]
        left[:, place] = whole
    return left


def measure_inputs(model: onnx.ModelProto, weights: Weights, faces: NDArray[np.uint8]) -> Moments:
    """The products of every two inputs of a layer's filters, (k, k), summed over batches of faces
    and averaged over the places of each."""
    nodes = [node for node in model.graph.node if node.name in weights]
    inputs = tuple(dict.fromkeys(node.input[0] for node in nodes))
    watched = copy.deepcopy(model)
    watched.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in inputs)
    session = open_session(watched.SerializeToString())
    moments: Moments = {
        name: np.zeros((each[0].size, each[0].size)) for name, each in weights.items()
    }
    for start in range(0, len(faces), BATCH):
        batch = np.ascontiguousarray(faces[start : start + BATCH])
        # Not run_session: inside the graph a face and its mirror image are two rows.
        values = dict(zip(inputs, session.run(list(inputs), {INPUT: batch}), strict=True))
        for node in nodes:
            seen = filter_inputs(node, values[node.input[0]], weights[node.name].shape[2:])
            # Its scale does not matter, so the last batch may be smaller.
            moments[node.name] += seen.T @ seen / len(seen)
    return moments


def convolution_weights(model: onnx.ModelProto, layers: Collection[str]) -> Weights:
    stored = {each.name: each for each in model.graph.initializer}
    return {
        node.name: numpy_helper.to_array(stored[node.input[1]])
        for node in model.graph.node
        if node.op_type == "Conv" and node.name in layers and is_plain(node)
    }


def is_plain(convolution: NodeProto) -> bool:
    """Whether each filter sees all channels, without gaps; the others keep the nearest integers."""
    settings = conv_settings(convolution)
    return settings.get("group", 1) == 1 and set(settings.get("dilations", (1,))) == {1}


def conv_settings(convolution: NodeProto) -> dict[str, Any]:
    return {each.name: helper.get_attribute_value(each) for each in convolution.attribute}


def filter_inputs(
    convolution: NodeProto, maps: NDArray[np.float32], kernel: tuple[int, ...]
) -> NDArray[np.float32]:
    """What a filter sees at each place of the maps, (places, channels * height * width)."""
    settings = conv_settings(convolution)
    top, left, bottom, right = settings.get("pads", (0, 0, 0, 0))
    down, across = settings.get("strides", (1, 1))
    padded = np.pad(maps, ((0, 0), (0, 0), (top, bottom), (left, right)))
    windows = sliding_window_view(padded, kernel, axis=(2, 3))[:, :, ::down, ::across]
    places = windows.transpose(0, 2, 3, 1, 4, 5)
    return places.reshape(-1, maps.shape[1] * kernel[0] * kernel[1])
