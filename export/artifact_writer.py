"""Write a model file, a graph with its card, whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from calib.errors import RankotomError
from calib.files import replace_file
from rankotom_edge.model.artifact import TEMPERATURE, Artifact, read_artifact
from rankotom_edge.model.card import PREFIX, ModelCard


@contextmanager
def stage_artifact(model: onnx.ModelProto, card: ModelCard, path: Path) -> Iterator[Artifact]:
    """Write the file under a temporary name and read it back; it moves to ``path`` only if the
    block raises no error."""
    with replace_file(path) as temporary:
        temporary.write_bytes(serialize(model, card))
        yield read_artifact(temporary)


def write_artifact(model: onnx.ModelProto, card: ModelCard, path: Path) -> Artifact:
    with stage_artifact(model, card, path):
        pass
    return read_artifact(path)


def serialize(model: onnx.ModelProto, card: ModelCard) -> bytes:
    """The same graph and card give the same bytes."""
    complete = onnx.ModelProto()
    complete.CopyFrom(model)
    set_temperature(complete, card.temperature)
    other_metadata = {
        entry.key: entry.value for entry in model.metadata_props if not entry.key.startswith(PREFIX)
    }
    del complete.metadata_props[:]
    onnx.helper.set_model_props(complete, other_metadata | card.as_metadata())
    content: bytes = complete.SerializeToString(deterministic=True)
    return content


def get_temperature(model: onnx.ModelProto) -> float:
    return float(numpy_helper.to_array(_temperature_tensor(model)))


def set_temperature(model: onnx.ModelProto, temperature: float) -> None:
    """A float32 initializer, in the form that ``rankotom_edge.model.artifact`` reads."""
    value = np.array(temperature, dtype=np.float32)
    _temperature_tensor(model).CopyFrom(numpy_helper.from_array(value, TEMPERATURE))


def _temperature_tensor(model: onnx.ModelProto) -> onnx.TensorProto:
    initializer: onnx.TensorProto
    for initializer in model.graph.initializer:
        if initializer.name == TEMPERATURE:
            return initializer
    raise RankotomError(
        f"The graph has no initializer {TEMPERATURE!r}, so it cannot be calibrated. "
        "Export it from its checkpoint again."
    )
