"""What a model file's graph is made of, checked before ONNX Runtime loads it.

Only operators that end and that our exports use are allowed: no loop, no call of another library,
nothing that makes gigabytes of a few numbers. Read from the bytes, as protobuf writes them: to
import onnx would take ten times as long as to read the file, at every start of the camera.
"""

import math
from collections.abc import Iterator, Mapping

from calib.errors import RankotomError

OPERATORS = {
    "Add", "AveragePool", "Cast", "Clip", "Concat", "Constant", "Conv", "DequantizeLinear", "Div",
    "Flatten", "Gather", "Gemm", "GlobalAveragePool", "Identity", "MatMul", "Max", "MaxPool", "Mul",
    "QuantizeLinear", "ReduceMean", "Relu", "Reshape", "Softmax", "Split", "Squeeze", "Sub",
    "Transpose", "Unsqueeze",
}  # fmt: skip
DOMAINS = ("", "ai.onnx")
MOST_NODES = 10_000  # ten times those of a large network, quantized
LARGEST = 2**31 - 1  # elements along one axis

# Numbers of the fields in onnx.proto.
GRAPH, TRAINING, FUNCTIONS = 7, 20, 25
NODE, INITIALIZER, SPARSE = 1, 5, 15
OPERATOR, ATTRIBUTE, DOMAIN = 4, 5, 7
TENSOR, SUBGRAPH, TENSORS, SUBGRAPHS, SPARSE_TENSOR, SPARSE_TENSORS = 5, 6, 10, 11, 22, 23
DIMENSIONS, NAME, RAW, EXTERNAL, LOCATION = 1, 8, 9, 13, 14
VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5


def check_content(model: bytes) -> Mapping[str, bytes]:
    """The bytes of its constants of a single number, by name. Raises RankotomError for what a model
    of ours does not have."""
    try:
        return _check_model(memoryview(model))
    except UnicodeDecodeError:
        raise
    except (ValueError, IndexError) as error:
        raise RankotomError("it is not a whole ONNX file, or a damaged one") from error


def _check_model(model: memoryview) -> dict[str, bytes]:
    nodes = 0
    raw: dict[str, bytes] = {}
    for number, graph in _fields(model):
        if number in (TRAINING, FUNCTIONS):
            raise RankotomError("it has functions of its own, which ours have not")
        if number != GRAPH:
            continue
        for part, value in _fields(_message(graph)):
            if part == NODE:
                nodes += 1
                _check_node(_message(value))
            elif part == INITIALIZER:
                name, stored = _check_constant(_message(value))
                raw[name] = stored
            elif part == SPARSE:
                raise RankotomError("it has sparse weights, which ours have not")
    if nodes > MOST_NODES:
        raise RankotomError(f"it has {nodes:,} nodes; at most {MOST_NODES:,} are run")
    return raw


def _check_node(node: memoryview) -> None:
    operator = domain = ""
    for number, value in _fields(node):
        if number == OPERATOR:
            operator = _text(value)
        elif number == DOMAIN:
            domain = _text(value)
        elif number == ATTRIBUTE:
            _check_attribute(_message(value))
    if operator not in OPERATORS or domain not in DOMAINS:
        named = f"{domain}.{operator}" if domain else operator
        raise RankotomError(
            f"its graph uses {named[:60]}, which is not among the operators of our exports "
            f"({', '.join(sorted(OPERATORS))})"
        )


def _check_attribute(attribute: memoryview) -> None:
    for number, value in _fields(attribute):
        if number in (TENSOR, TENSORS):
            _check_constant(_message(value))
        elif number in (SUBGRAPH, SUBGRAPHS, SPARSE_TENSOR, SPARSE_TENSORS):
            raise RankotomError("a node of its graph holds another graph, which ours do not")


def _check_constant(tensor: memoryview) -> tuple[str, bytes]:
    """What its shape claims must be there: ONNX Runtime would allocate what is claimed."""
    name, raw = "", b""
    shape: list[int] = []
    for number, value in _fields(tensor):
        if number == DIMENSIONS:
            shape += [value] if isinstance(value, int) else list(_varints(value))
        elif number == NAME:
            name = _text(value)
        elif number == RAW:
            raw = bytes(_message(value)) if len(_message(value)) <= 8 else b""
        elif number == EXTERNAL or (number == LOCATION and value):
            raise RankotomError(
                "its weights are in another file, and ours hold everything. Save it in one file "
                "(onnx.save without external data), or with: rankotom-edge export"
            )
    # The smallest numbers have four bits.
    if max(shape, default=0) > LARGEST or math.prod(shape) > 2 * len(tensor):
        claimed = " x ".join(map(str, shape))
        raise RankotomError(
            f"its constant {name[:60]!r} claims {claimed} numbers in {len(tensor):,} bytes"
        )
    return name, raw


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The number and the value of each field."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == VARINT:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if kind == BYTES:
            size, at = _varint(message, at)
        elif kind in (FIXED_32, FIXED_64):
            size = 4 if kind == FIXED_32 else 8
        else:
            raise ValueError(f"wire type {kind}")
        if size > len(message) - at:
            raise ValueError("a field is cut off")
        yield key >> 3, message[at : at + size]
        at += size


def _varints(packed: memoryview) -> Iterator[int]:
    at = 0
    while at < len(packed):
        value, at = _varint(packed, at)
        yield value


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """Seven bits a byte, the lowest first; the eighth says that more follow."""
    value = 0
    for shift in range(0, 70, 7):
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a number has more than ten bytes")


def _message(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise ValueError("a number in place of a message")
    return value


def _text(value: int | memoryview) -> str:
    return bytes(_message(value)).decode()
