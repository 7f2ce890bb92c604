"""Reads and checks a model file: one ONNX file with its card (``card``) in the metadata."""

import hashlib
import io
import math
import os
import shlex
import struct
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

from calib.errors import RankotomError
from calib.input_files import expand_home, read_input
from rankotom_edge.model.card import EXPORT_AGAIN, ModelCard
from rankotom_edge.model.graph_content import check_content
from rankotom_edge.model.onnx_runtime import MOST_BYTES, InferenceSession, open_session, try_session

EMBEDDED = Path(str(resources.files("rankotom_edge.model.embedded")))

INPUT = "faces"
OUTPUTS = LOGITS, PROBABILITIES, EVIDENCE = "logits", "probabilities", "evidence"
# The initializer that divides the logits: a scalar in the graph, so that it can be changed without
# torch or a second export.
TEMPERATURE = "temperature"


@dataclass(frozen=True)
class Artifact:
    """A model file whose graph was checked against its card."""

    card: ModelCard
    path: Path
    sha256: str
    bytes: int
    has_evidence: bool

    @property
    def embedded(self) -> bool:
        return self.path.parent == EMBEDDED

    @property
    def cli_name(self) -> str:
        """How to name it on a command line: an embedded model's name, or the quoted path."""
        return self.path.stem if self.embedded else shlex.quote(str(self.path))

    def as_json(self) -> dict[str, object]:
        return {"file": str(self.path), "sha256": self.sha256, "bytes": self.bytes} | (
            self.card.as_json()
        )

    def summary(self) -> dict[str, object]:
        """The entries of a report on the model."""
        return {
            "name": self.card.name,
            "file": self.path.name,
            "precision": self.card.precision,
            "bytes": self.bytes,
            "sha256": self.sha256,
            "targets": list(self.card.targets),
            "layers_in_fp32": list(self.card.layers_in_fp32),
        }


def load_artifact(named: str) -> Artifact:
    """``named``: the name of an embedded model, or the path of any model file."""
    return read_artifact(_model_path(named))


def _model_path(named: str) -> Path:
    embedded = embedded_models()
    if named in embedded:
        return embedded[named]
    path = expand_home(named)
    if os.path.exists(path):  # also what is no file, for an error that says so
        return path
    known = f"embedded here: {', '.join(embedded)}" if embedded else "none is embedded here"
    raise RankotomError(f"There is no model {named!r}: no such file, and no such name ({known}).")


def embedded_models() -> dict[str, Path]:
    return {path.stem: path for path in sorted(EMBEDDED.glob("*.onnx"))}


def read_artifact(path: Path) -> Artifact:
    content = read_input(path, MOST_BYTES)
    try:
        constants = check_content(content)
        # ONNX Runtime prints when a name in its error message is not valid text.
        with redirect_stdout(io.StringIO()):
            session = open_session(content, optimise=False)
        card = _read_card(session, constants)
    except RankotomError as error:
        raise RankotomError(f"{path} is not a model of ours: {error}") from error
    except UnicodeDecodeError as error:
        raise RankotomError(f"{path} has text that is not valid UTF-8. {EXPORT_AGAIN}") from error
    return Artifact(
        card=card,
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        bytes=len(content),
        has_evidence=any(output.name == EVIDENCE for output in session.get_outputs()),
    )


def _read_card(session: InferenceSession, constants: Mapping[str, bytes]) -> ModelCard:
    card = ModelCard.from_metadata(session.get_modelmeta().custom_metadata_map)
    _check_graph(session, card)
    _check_temperature(constants.get(TEMPERATURE, b""), card)
    _try_one_face(session, card)
    return card


def _check_graph(session: InferenceSession, card: ModelCard) -> None:
    """Inputs and outputs must be what the card promises."""
    inputs = {given.name: (given.type, given.shape[1:]) for given in session.get_inputs()}
    size, channels = card.crop.size, card.crop.channels
    if inputs != {INPUT: ("tensor(uint8)", [channels, size, size])}:
        raise RankotomError(
            f"its card promises one input, {INPUT}, of bytes [n, {channels}, {size}, {size}]; its "
            f"graph takes {inputs}. {EXPORT_AGAIN}"
        )
    (batch,) = (given.shape[0] for given in session.get_inputs())
    if isinstance(batch, int):
        raise RankotomError(
            f"its graph takes exactly {batch} at a time, and ours take any number of faces. Export "
            "it with a dynamic batch size, or with: rankotom-edge export"
        )
    outputs = {given.name: (given.type, given.shape[1:]) for given in session.get_outputs()}
    for name in (LOGITS, PROBABILITIES):
        if outputs.get(name) != ("tensor(float)", [len(card.labels)]):
            raise RankotomError(
                f"its card promises {name} of {len(card.labels)} labels as floats; its graph gives "
                f"{outputs.get(name, 'none')}. {EXPORT_AGAIN}"
            )
    if EVIDENCE in outputs:
        kind, shape = outputs[EVIDENCE]
        if kind != "tensor(float)" or len(shape) != 3 or shape[0] != len(card.labels):
            raise RankotomError(
                f"its {EVIDENCE} must be a map of floats for each of {len(card.labels)} labels; "
                f"its graph gives {outputs[EVIDENCE]}. {EXPORT_AGAIN}"
            )


def _check_temperature(stored: bytes, card: ModelCard) -> None:
    """``stored``: as ``export.artifact_writer.set_temperature`` writes it."""
    if len(stored) != 4:
        raise RankotomError(f"its graph has no temperature where ours have it. {EXPORT_AGAIN}")
    (divisor,) = struct.unpack("<f", stored)
    if not math.isclose(divisor, card.temperature, rel_tol=1e-6):
        raise RankotomError(
            f"its card promises a temperature of {card.temperature:g}; its graph divides by "
            f"{divisor:g}. {EXPORT_AGAIN}"
        )


def _try_one_face(session: InferenceSession, card: ModelCard) -> None:
    """What a graph declares need not be what it does, or does in time."""
    size, channels = card.crop.size, card.crop.channels
    outputs = [each.name for each in session.get_outputs() if each.name in OUTPUTS]
    answers = try_session(session, outputs, {INPUT: np.zeros((1, channels, size, size), np.uint8)})
    for name, answer in zip(outputs, answers, strict=True):
        if answer.shape[1:2] != (len(card.labels),):
            raise RankotomError(
                f"it answers a face with {name} of the shape {answer.shape}, and its card names "
                f"{len(card.labels)} labels. {EXPORT_AGAIN}"
            )
