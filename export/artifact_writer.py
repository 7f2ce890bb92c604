"""The model file: a graph and its card, written whole or not at all."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from calib.errors import RankotomError
from calib.evaluation import Evaluation
from calib.files import replacing
from rankotom_edge.model.artifact import TEMPERATURE as TEMPERATURE
from rankotom_edge.model.artifact import Artifact, read_artifact
from rankotom_edge.model.card import PREFIX, ModelCard


@contextmanager
def written(model: onnx.ModelProto, card: ModelCard, path: Path) -> Iterator[Artifact]:
    """The file under a temporary name, read back; it takes its place if the block does not object.

    The same graph and card give the same bytes.
    """
    with replacing(path) as temporary:
        temporary.write_bytes(serialised(model, card))
        yield read_artifact(temporary)


def write_artifact(model: onnx.ModelProto, card: ModelCard, path: Path) -> Artifact:
    with written(model, card, path):
        pass
    return read_artifact(path)


def serialised(model: onnx.ModelProto, card: ModelCard) -> bytes:
    described = onnx.ModelProto()
    described.CopyFrom(model)
    set_temperature(described, card.temperature)
    kept = {
        entry.key: entry.value for entry in model.metadata_props if not entry.key.startswith(PREFIX)
    }
    del described.metadata_props[:]
    onnx.helper.set_model_props(described, kept | card.as_metadata())
    content: bytes = described.SerializeToString(deterministic=True)
    return content


def temperature_of(model: onnx.ModelProto) -> float:
    return float(numpy_helper.to_array(_temperature(model)))


def set_temperature(model: onnx.ModelProto, temperature: float) -> None:
    """In the very form in which ``rankotom_edge.model.artifact`` looks for it."""
    value = np.array(temperature, dtype=np.float32)
    _temperature(model).CopyFrom(numpy_helper.from_array(value, TEMPERATURE))


def _temperature(model: onnx.ModelProto) -> onnx.TensorProto:
    initializer: onnx.TensorProto
    for initializer in model.graph.initializer:
        if initializer.name == TEMPERATURE:
            return initializer
    raise RankotomError(
        f"The graph has no initializer {TEMPERATURE!r}, so it cannot be calibrated. "
        "Export it from its checkpoint again."
    )


def figures_of(evaluation: Evaluation) -> dict[str, Any]:
    """Six decimals of a share are more than any interval; the model is the file itself."""
    figures = {key: value for key, value in evaluation.as_json().items() if key != "model"}
    rounded: dict[str, Any] = json.loads(
        json.dumps(figures), parse_float=lambda digits: round(float(digits), 6)
    )
    return rounded
