"""From FP32 to bytes: weights per channel, activations by ranges seen on real faces.

The head, softmax and temperature stay as they are: confidence lives there.
"""

import contextlib
import copy
import io
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from calib.errors import RankotomError
from export.artifact_writer import set_temperature, temperature_of
from rankotom_edge.model.artifact import INPUT
from rankotom_edge.model.machine import Target
from rankotom_edge.model.onnx_runtime import (
    REFUSALS,  # first: it tells ONNX Runtime not to call out
)

# isort: split
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantType
from onnxruntime.quantization.calibrate import TensorsData, create_calibrator
from onnxruntime.quantization.qdq_quantizer import QDQQuantizer
from onnxruntime.quantization.shape_inference import quant_pre_process

Calibration = Literal["minmax", "entropy", "percentile 99.99", "percentile 99.999"]
CALIBRATIONS: dict[Calibration, tuple[CalibrationMethod, dict[str, float]]] = {
    "minmax": (CalibrationMethod.MinMax, {}),
    "entropy": (CalibrationMethod.Entropy, {}),
    "percentile 99.99": (CalibrationMethod.Percentile, {"percentile": 99.99}),
    "percentile 99.999": (CalibrationMethod.Percentile, {"percentile": 99.999}),
}
CALIBRATION_FACES = 512
# All activations of a batch are in memory at once: about 1.6 MB a face.
BATCH = 32
LOWEST = "lowest_float"
NOT_ONE = 2.0
LAYER_OPERATORS = ("Conv", "Relu", "Add")


@dataclass(frozen=True)
class Scheme:
    """How numbers become bytes for a kind of machine."""

    name: str
    targets: tuple[Target, ...]
    activations: QuantType
    symmetric: bool  # every zero point is 0
    # Two products of a byte and 8-bit weights overflow the 16 bits in which x86 kernels without
    # VNNI add them (on a Zen 3, 14 % of the faces changed their expression); of 7-bit weights
    # they never do, and a file travels.
    short_weights: bool

    @property
    def operators(self) -> tuple[str, ...]:
        """An asymmetric range absorbs the Relu before it. A symmetric one cannot, so there the Relu
        stays in floats, right behind its convolution, where TensorRT fuses the two."""
        return LAYER_OPERATORS if not self.symmetric else ("Conv", "Add")


U8S8 = Scheme("u8s8", ("x86",), QuantType.QUInt8, symmetric=False, short_weights=True)
S8S8 = Scheme("s8s8", ("arm", "tensorrt"), QuantType.QInt8, symmetric=True, short_weights=False)


def scheme_for(target: Target) -> Scheme:
    return next(scheme for scheme in (U8S8, S8S8) if target in scheme.targets)


def prepared(model: onnx.ModelProto) -> onnx.ModelProto:
    """Shapes inferred and constants folded, as ONNX Runtime wants it before it quantizes."""
    # It would fold a division by 1 away, and with it the place of the temperature to come.
    lasting = copy.deepcopy(model)
    set_temperature(lasting, NOT_ONE)
    with _silence(), TemporaryDirectory() as folder:
        given, ready = Path(folder) / "given.onnx", Path(folder) / "ready.onnx"
        onnx.save(lasting, given)
        # The graph's shapes are fixed but for n, so plain shape inference suffices.
        quant_pre_process(given, ready, skip_symbolic_shape=True)
        result = onnx.load(ready)
    set_temperature(result, temperature_of(model))
    return result


def layers(model: onnx.ModelProto) -> dict[str, tuple[str, ...]]:
    """The convolutions by name, each with the Relu and Add that its result runs through."""
    owner: dict[str, str] = {}
    found: dict[str, list[str]] = {}
    for node in model.graph.node:
        if node.op_type == "Conv":
            layer = node.name
        elif node.op_type in LAYER_OPERATORS and node.input[0] in owner:
            layer = owner[node.input[0]]
        else:
            continue
        owner[node.output[0]] = layer
        found.setdefault(layer, []).append(node.name)
    if not found:
        raise RankotomError("The graph has no convolution, so there is nothing to quantize.")
    return {layer: tuple(nodes) for layer, nodes in found.items()}


def quantizable(model: onnx.ModelProto) -> dict[str, tuple[str, ...]]:
    """All layers but the first. It has one channel in and next to no weights: in FP32 it takes a
    quarter of its time as bytes (20 and 87 us on a Zen 3), and the logits stray a quarter less."""
    first, *others = layers(model).items()
    return dict(others or [first])


def activation_ranges(
    model: onnx.ModelProto, faces: NDArray[np.uint8], calibration: Calibration, scheme: Scheme
) -> TensorsData:
    """What each activation was seen to span; ``faces``: (n, channels, size, size)."""
    method, options = CALIBRATIONS[calibration]
    with _silence(), TemporaryDirectory() as folder:
        given = Path(folder) / "given.onnx"
        onnx.save(model, given)
        calibrator = create_calibrator(
            given,
            LAYER_OPERATORS,
            augmented_model_path=str(Path(folder) / "augmented.onnx"),
            calibrate_method=method,
            extra_options={"symmetric": scheme.symmetric, **options},
        )
        for start in range(0, len(faces), BATCH):
            calibrator.collect_data(_Faces(faces[start : start + BATCH]))
        return calibrator.compute_data()


def quantized(
    model: onnx.ModelProto, ranges: TensorsData, scheme: Scheme, in_fp32: frozenset[str]
) -> onnx.ModelProto:
    """The prepared model with QuantizeLinear and DequantizeLinear around all but these layers."""
    nodes = [
        node
        for layer, names in quantizable(model).items()
        if layer not in in_fp32
        for node in names
    ]
    if not nodes:  # to ONNX Runtime an empty list is all of them
        return copy.deepcopy(model)
    options: dict[str, Any] = {
        "ActivationSymmetric": scheme.symmetric,
        "WeightSymmetric": True,
        # TensorRT's parser refuses int32 biases; ONNX Runtime makes them itself when it loads.
        "QuantizeBias": False,
        "OpTypesToExcludeOutputQuantization": list(scheme.operators) if scheme.symmetric else [],
    }
    with _silence():
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
    keep_in_floats(result, in_fp32)
    return result


def keep_in_floats(model: onnx.ModelProto, restored: frozenset[str]) -> None:
    """Set what ``restored`` convolutions are given apart from its DequantizeLinear, in place.

    Between a DequantizeLinear and a QuantizeLinear ONNX Runtime quantizes the weights itself when
    it loads the graph (its pull request 22969), restored or not. A maximum with the least float is
    the same number, and stands in its way.
    """
    graph = model.graph
    makers = {name: node.op_type for node in graph.node for name in node.output}
    nodes = []
    for node in graph.node:
        given = node.input[0] if node.input else ""
        if node.name in restored and makers.get(given) == "DequantizeLinear":
            node.input[0] = f"{given}.{node.name}"
            nodes.append(
                helper.make_node("Max", [given, LOWEST], [node.input[0]], f"{node.name}.in_fp32")
            )
        nodes.append(node)
    if len(nodes) > len(graph.node):
        least = np.array(np.finfo(np.float32).min, dtype=np.float32)
        graph.initializer.append(numpy_helper.from_array(least, LOWEST))
        del graph.node[:]
        graph.node.extend(nodes)


class _Faces(CalibrationDataReader):  # type: ignore[misc]  # onnxruntime has no types
    def __init__(self, faces: NDArray[np.uint8]) -> None:
        self._left = iter([{INPUT: np.ascontiguousarray(faces)}])

    def get_next(self) -> dict[str, NDArray[np.uint8]] | None:
        return next(self._left, None)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """ONNX Runtime's quantizer prints its progress and logs advice that is taken already."""
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    except REFUSALS as error:
        words = str(error).strip().splitlines()[0]
        raise RankotomError(f"ONNX Runtime could not quantize the model: {words}") from error
    except OSError as error:
        raise RankotomError(
            f"Cannot write the model in between to {gettempdir()}: {error.strerror}. Make room "
            "there, or name another folder in TMPDIR."
        ) from error
    finally:
        root.setLevel(level)
