"""Quantize an FP32 model to INT8: weights per channel, activations by their ranges on real faces.

The head, softmax and temperature stay in FP32, because confidence is computed there.
"""

import contextlib
import copy
import io
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, Literal, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from calib.errors import RankotomError
from export.artifact_writer import get_temperature, set_temperature
from rankotom_edge.model.artifact import INPUT
from rankotom_edge.model.onnx_runtime import (
    REFUSALS,  # first: it switches off ONNX Runtime's telemetry
)
from rankotom_edge.model.target import Target

# isort: split
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantType
from onnxruntime.quantization.calibrate import TensorsData, create_calibrator
from onnxruntime.quantization.qdq_quantizer import QDQQuantizer
from onnxruntime.quantization.shape_inference import quant_pre_process

Ranges: TypeAlias = TensorsData  # of all activations, by tensor
Calibration = Literal["minmax", "entropy", "percentile 99.99", "percentile 99.999"]
CALIBRATIONS: dict[Calibration, tuple[CalibrationMethod, dict[str, float]]] = {
    "minmax": (CalibrationMethod.MinMax, {}),
    "entropy": (CalibrationMethod.Entropy, {}),
    "percentile 99.99": (CalibrationMethod.Percentile, {"percentile": 99.99}),
    "percentile 99.999": (CalibrationMethod.Percentile, {"percentile": 99.999}),
}
CALIBRATION_FACES = 512  # chosen by eye
# All activations of a batch are in memory at once: some megabytes a face.
BATCH = 32
LOWEST = "lowest_float"
LAYER_OPERATORS = ("Conv", "Relu", "Add")


@dataclass(frozen=True)
class Scheme:
    """How activations and weights become INT8 for a kind of machine."""

    name: str
    targets: tuple[Target, ...]
    activations: QuantType
    symmetric: bool  # every zero point is 0
    # x86 kernels without VNNI add two products in 16 bits. With 8-bit weights that overflows, with
    # 7-bit weights never, so one file gives the same answers on every CPU, ARM's too (make arm64).
    short_weights: bool

    @property
    def operators(self) -> tuple[str, ...]:
        """An asymmetric range absorbs the Relu before it. With a symmetric one the Relu stays in
        floats, right after its convolution, and TensorRT fuses the two."""
        return LAYER_OPERATORS if not self.symmetric else ("Conv", "Add")


U8S8 = Scheme("u8s8", ("x86", "arm"), QuantType.QUInt8, symmetric=False, short_weights=True)
S8S8 = Scheme("s8s8", ("tensorrt",), QuantType.QInt8, symmetric=True, short_weights=False)


def scheme_for(target: Target) -> Scheme:
    return next(scheme for scheme in (U8S8, S8S8) if target in scheme.targets)


def prepare(model: onnx.ModelProto) -> onnx.ModelProto:
    """Infer shapes and fold constants, as ONNX Runtime's quantizer expects."""
    # Folding would remove a division by 1; a temperature that is set later needs that division.
    hot = copy.deepcopy(model)
    set_temperature(hot, 2.0)
    with _quiet_quantizer(), TemporaryDirectory() as folder:
        before, after = Path(folder) / "before.onnx", Path(folder) / "after.onnx"
        onnx.save(hot, before)
        # All shapes except n are fixed, so plain shape inference is enough.
        quant_pre_process(before, after, skip_symbolic_shape=True)
        result = onnx.load(after)
    set_temperature(result, get_temperature(model))
    return result


def find_layers(model: onnx.ModelProto) -> dict[str, tuple[str, ...]]:
    """The convolutions by name, each with its own node and the Relu, Add and MaxPool after it."""
    owner: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    for node in model.graph.node:
        if node.op_type == "Conv":
            layer = node.name
        elif node.op_type in (*LAYER_OPERATORS, "MaxPool") and node.input[0] in owner:
            layer = owner[node.input[0]]
        else:
            continue
        owner[node.output[0]] = layer
        found.setdefault(layer, []).append(node.name)
    if not found:
        raise RankotomError("The graph has no convolution, so there is nothing to quantize.")
    return {layer: tuple(nodes) for layer, nodes in found.items()}


def quantizable_layers(model: onnx.ModelProto) -> dict[str, tuple[str, ...]]:
    """All layers but the first: with one input channel and few weights, it is not faster in INT8,
    only less precise."""
    first, *others = find_layers(model).items()
    return dict(others or [first])


def activation_ranges(
    model: onnx.ModelProto, faces: NDArray[np.uint8], calibration: Calibration, scheme: Scheme
) -> Ranges:
    """The range of each activation on a sample of the faces, (n, channels, size, size)."""
    method, options = CALIBRATIONS[calibration]
    faces = sample_evenly(faces, CALIBRATION_FACES)
    with _quiet_quantizer(), TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(model, path)
        calibrator = create_calibrator(
            path,
            LAYER_OPERATORS,
            augmented_model_path=str(Path(folder) / "augmented.onnx"),
            calibrate_method=method,
            extra_options={"symmetric": scheme.symmetric, **options},
        )
        for start in range(0, len(faces), BATCH):
            calibrator.collect_data(_CalibrationFaces(faces[start : start + BATCH]))
        return calibrator.compute_data()


def sample_evenly(faces: NDArray[np.uint8], count: int) -> NDArray[np.uint8]:
    """At most ``count`` faces from the whole range, because data sets are often sorted."""
    indices = np.linspace(0, len(faces) - 1, min(count, len(faces))).round().astype(np.int64)
    return faces[indices]


def quantize(
    model: onnx.ModelProto, ranges: Ranges, scheme: Scheme, in_fp32: frozenset[str]
) -> onnx.ModelProto:
    """Insert QuantizeLinear and DequantizeLinear around all layers of a prepared model, except
    those ``in_fp32``."""
    nodes = [
        node
        for layer, names in quantizable_layers(model).items()
        if layer not in in_fp32
        for node in names
    ]
    if not nodes:  # ONNX Runtime takes an empty list for all nodes
        return copy.deepcopy(model)
    options: dict[str, Any] = {
        "ActivationSymmetric": scheme.symmetric,
        "WeightSymmetric": True,
        # TensorRT refuses int32 biases; ONNX Runtime quantizes float biases itself on loading.
        "QuantizeBias": False,
        "OpTypesToExcludeOutputQuantization": list(scheme.operators) if scheme.symmetric else [],
    }
    with _quiet_quantizer():
        quantizer = QDQQuantizer(
            copy.deepcopy(model),
            True,  # per channel
            scheme.short_weights,
            QuantType.QInt8,
            scheme.activations,
            ranges,
            nodes,
            [],
            list(scheme.operators),
            options,
        )
        quantizer.quantize_model()
        quantizer.model.topological_sort()
    result: onnx.ModelProto = quantizer.model.model
    _keep_in_fp32(result, in_fp32)
    return result


def _keep_in_fp32(model: onnx.ModelProto, layers: frozenset[str]) -> None:
    """Insert a Max with the lowest float before these convolutions and after every MaxPool, in
    place.

    When ONNX Runtime loads a graph, it quantizes every convolution between a DequantizeLinear and a
    QuantizeLinear (its pull request 22969), and every MaxPool before a QuantizeLinear, although
    its integer kernel is slower (docs/results.md). The Max changes no number and breaks both
    patterns.
    """
    graph = model.graph
    operators = {name: node.op_type for node in graph.node for name in node.output}
    nodes = []
    for node in graph.node:
        source = node.input[0] if node.input else ""
        if (node.op_type == "QuantizeLinear" and operators.get(source) == "MaxPool") or (
            node.name in layers and operators.get(source) == "DequantizeLinear"
        ):
            node.input[0] = f"{source}.{node.name}"
            nodes.append(
                helper.make_node("Max", [source, LOWEST], [node.input[0]], f"{node.name}.in_fp32")
            )
        nodes.append(node)
    if len(nodes) > len(graph.node):
        lowest = np.array(np.finfo(np.float32).min, dtype=np.float32)
        graph.initializer.append(numpy_helper.from_array(lowest, LOWEST))
        del graph.node[:]
        graph.node.extend(nodes)


class _CalibrationFaces(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
    def __init__(self, faces: NDArray[np.uint8]) -> None:
        self._batches = iter([{INPUT: np.ascontiguousarray(faces)}])

    def get_next(self) -> dict[str, NDArray[np.uint8]] | None:
        return next(self._batches, None)


@contextlib.contextmanager
def _quiet_quantizer() -> Iterator[None]:
    """Hide the progress and the advice that ONNX Runtime prints, and make its errors ours."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    except REFUSALS as error:
        reason = str(error).strip().splitlines()[0]
        raise RankotomError(f"ONNX Runtime could not quantize the model: {reason}") from error
    except OSError as error:
        raise RankotomError(
            f"Cannot write a temporary model to {gettempdir()}: {error.strerror}. Free some space "
            "there, or set TMPDIR to another folder."
        ) from error
    finally:
        root.setLevel(level)
