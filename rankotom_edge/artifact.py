"""The model file: one ONNX file that says everything of itself, read back and checked.

Every ``metadata_props`` entry under ``rankotom.`` is a field of ``ModelCard``; text as it is, the
rest as JSON. Unknown entries are passed over, so that a later version may add some.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any

from calib.arrays import as_classes
from calib.errors import RankotomError
from rankotom_edge.crop import Channels, Framing
from rankotom_edge.runtime import Session, open_session

FORMAT = 1
PREFIX = "rankotom."
EMBEDDED = Path(str(resources.files("rankotom_edge.models")))

INPUT = "faces"
LOGITS, PROBABILITIES, EVIDENCE = "logits", "probabilities", "evidence"

AGAIN = "The file is damaged or was changed; export it again."


@dataclass(frozen=True)
class FacesUsed:
    """Which faces a number was taken from.

    ``sha256`` is over the pixels as the network saw them, in order, then the labels as 64-bit
    little-endian integers: another picture, crop, order or label gives another hash.
    """

    name: str  # "ferplus/valid/choose"
    count: int
    sha256: str

    def as_json(self) -> dict[str, object]:
        return {"name": self.name, "count": self.count, "sha256": self.sha256}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> FacesUsed:
        return cls(str(saved["name"]), int(saved["count"]), str(saved["sha256"]))


@dataclass(frozen=True)
class CropContract:
    """What the network takes: faces of this size, grey or RGB, with eyes and mouth in place."""

    size: int
    channels: Channels
    framing: Framing

    def as_json(self) -> dict[str, object]:
        return {"size": self.size, "channels": self.channels, "framing": self.framing.as_json()}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> CropContract:
        size, channels = int(saved["size"]), saved["channels"]
        if size < 1 or channels not in (1, 3):
            raise ValueError("a size of at least 1 and 1 or 3 channels")
        return cls(size, channels, Framing.from_json(saved["framing"]))


@dataclass(frozen=True)
class ModelCard:
    """What a model file says of itself."""

    name: str
    labels: tuple[str, ...]
    crop: CropContract
    mirror: bool  # the graph also looks at each face's mirror image, and averages
    temperature: float  # already applied in the graph
    precision: str  # fp32, fp16, int8
    recipe: Mapping[str, Any]
    parent: str  # SHA-256 of the file that this one was made from
    calibrated_on: tuple[FacesUsed, ...]
    measured_on: FacesUsed
    figures: Mapping[str, Any]  # calib.evaluation.Evaluation.as_json, on measured_on
    licence: str
    created_by: str
    # Later entries; files from before them are as good as ever.
    targets: tuple[str, ...] = ()  # the machines that it was made small for; none: any
    quantization: Mapping[str, Any] = field(default_factory=dict)  # how it was made small

    @property
    def layers_in_fp32(self) -> tuple[str, ...]:
        """Of a quantized model, those that the gate restored."""
        return tuple(self.quantization.get("layers_in_fp32", ()))

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "labels": list(self.labels),
            "crop": self.crop.as_json(),
            "mirror": self.mirror,
            "temperature": self.temperature,
            "precision": self.precision,
            "recipe": dict(self.recipe),
            "parent": self.parent,
            "calibrated_on": [faces.as_json() for faces in self.calibrated_on],
            "measured_on": self.measured_on.as_json(),
            "figures": dict(self.figures),
            "licence": self.licence,
            "created_by": self.created_by,
            "targets": list(self.targets),
            "quantization": dict(self.quantization),
        }

    def as_metadata(self) -> dict[str, str]:
        entries = {"format": FORMAT, **self.as_json()}
        return {f"{PREFIX}{name}": _as_text(value) for name, value in sorted(entries.items())}

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, str]) -> ModelCard:
        entries = {
            name.removeprefix(PREFIX): text
            for name, text in metadata.items()
            if name.startswith(PREFIX)
        }
        _check_format(entries.get("format"))
        missing = [
            entry.name
            for entry in fields(cls)
            if entry.name not in entries
            and entry.default is MISSING
            and entry.default_factory is MISSING
        ]
        if missing:
            raise RankotomError(f"it says nothing of its {', '.join(missing)}. {AGAIN}")
        known = [entry.name for entry in fields(cls) if entry.name in entries]
        return cls(**{name: _parsed(name, entries[name]) for name in known})


@dataclass(frozen=True)
class Artifact:
    """A model file that was read and whose graph is what its card says."""

    card: ModelCard
    path: Path
    sha256: str
    bytes: int
    has_evidence: bool

    def as_json(self) -> dict[str, object]:
        return {"file": str(self.path), "sha256": self.sha256, "bytes": self.bytes} | (
            self.card.as_json()
        )

    def summary(self) -> dict[str, object]:
        """What a report on the model says of it."""
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
    """An embedded model by its name, or any model file by its path."""
    return read_artifact(model_path(named))


def model_path(named: str) -> Path:
    embedded = embedded_models()
    if named in embedded:
        return embedded[named]
    path = Path(named).expanduser()
    if path.is_file():
        return path
    known = f"embedded here: {', '.join(embedded)}" if embedded else "none is embedded here"
    raise RankotomError(f"There is no model {named!r}: no such file, and no such name ({known}).")


def embedded_models() -> dict[str, Path]:
    return {path.stem: path for path in sorted(EMBEDDED.glob("*.onnx"))}


def read_artifact(path: Path) -> Artifact:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RankotomError(f"Cannot read the model {path}: {error.strerror}.") from error
    session = open_session(path, optimise=False)
    try:
        card = ModelCard.from_metadata(session.get_modelmeta().custom_metadata_map)
        _check_graph(session, card)
    except RankotomError as error:
        raise RankotomError(f"{path} is not a model of ours: {error}") from error
    return Artifact(
        card=card,
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        bytes=len(content),
        has_evidence=any(output.name == EVIDENCE for output in session.get_outputs()),
    )


def _check_format(found: str | None) -> None:
    if found is None:
        raise RankotomError(
            "it is an ONNX file without our metadata, so its labels, crop and temperature are "
            "unknown. Make one with: rankotom-edge export"
        )
    if not found.isdecimal():
        raise RankotomError(f"its format is {found!r}, not a number. {AGAIN}")
    if int(found) > FORMAT:
        raise RankotomError(
            f"it is of format {found}, and this version reads up to {FORMAT}. "
            "Update rankotom-edge, or export it with this version."
        )


def _check_graph(session: Session, card: ModelCard) -> None:
    """The graph takes and gives what the card promises."""
    inputs = {given.name: (given.type, given.shape[1:]) for given in session.get_inputs()}
    size, channels = card.crop.size, card.crop.channels
    if inputs != {INPUT: ("tensor(uint8)", [channels, size, size])}:
        raise RankotomError(
            f"its card promises one input, {INPUT}, of bytes [n, {channels}, {size}, {size}]; its "
            f"graph takes {inputs}. {AGAIN}"
        )
    outputs = {given.name: given.shape[1:] for given in session.get_outputs()}
    for name in (LOGITS, PROBABILITIES):
        if outputs.get(name) != [len(card.labels)]:
            raise RankotomError(
                f"its card promises {name} of {len(card.labels)} labels; its graph gives "
                f"{outputs.get(name, 'none')}. {AGAIN}"
            )


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _parsed(name: str, text: str) -> Any:
    try:
        return _PARSERS.get(name, str)(text)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        shown = text if len(text) <= 60 else f"{text[:60]}…"
        raise RankotomError(f"its {name} does not read: {shown!r} ({error}). {AGAIN}") from error


def _labels(text: str) -> tuple[str, ...]:
    names = json.loads(text)
    if not isinstance(names, list) or not names:
        raise ValueError("a list of names")
    return as_classes(names, len(names))


def _quantization(text: str) -> Mapping[str, Any]:
    record = _record(text)
    if record:
        kept = record["layers_in_fp32"]
        if not (isinstance(kept, list) and all(isinstance(layer, str) for layer in kept)):
            raise ValueError("the layers in FP32 as a list of names")
        FacesUsed.from_json(record["judged_on"])
        if not isinstance(record["ece_checked"], bool):
            raise ValueError("whether ECE was checked")
    return record


def _targets(text: str) -> tuple[str, ...]:
    names = json.loads(text)
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError("a list of machines")
    return tuple(names)


def _temperature(text: str) -> float:
    temperature = float(text)
    if not (math.isfinite(temperature) and temperature > 0):
        raise ValueError("a number above 0")
    return temperature


def _flag(text: str) -> bool:
    return {"true": True, "false": False}[text]


def _record(text: str) -> Mapping[str, Any]:
    record = json.loads(text)
    if not isinstance(record, dict):
        raise ValueError("a JSON object")
    return record


def _figures(text: str) -> Mapping[str, Any]:
    figures = _record(text)
    for name in ("accuracy", "ece", "aece", "mce"):
        low, high = figures["intervals"][name]
        if not (0 <= figures[name] <= 1 and low <= high):
            raise ValueError(f"{name} as a share with its interval")
    return figures


_PARSERS = {
    "labels": _labels,
    "crop": lambda text: CropContract.from_json(_record(text)),
    "mirror": _flag,
    "temperature": _temperature,
    "recipe": _record,
    "calibrated_on": lambda text: tuple(FacesUsed.from_json(used) for used in json.loads(text)),
    "measured_on": lambda text: FacesUsed.from_json(_record(text)),
    "figures": _figures,
    "targets": _targets,
    "quantization": _quantization,
}
