"""The model card: what a model file says of itself, in its ``metadata_props``.

Every entry under ``rankotom.`` is a field of ``ModelCard``: text as it is, the rest as JSON.
Unknown entries are ignored, so that a later version may add some.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from calib.arrays import as_classes
from calib.errors import RankotomError
from calib.evaluation import Evaluation
from calib.json_fields import count, load_json, text
from rankotom_edge.faces.crop import Channels, Framing
from rankotom_edge.model.target import TARGETS

FORMAT = 1
PREFIX = "rankotom."
PRECISIONS = ("fp32", "fp16", "int8")
KEYS = {"evaluation": "figures"}  # in the file, where it is not the field's own name
ADDED_LATER = ("targets", "quantization", "offsets")  # older files do not have them
# An integer too large for a float overflows, brackets nested too deep end in a RecursionError.
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
EXPORT_AGAIN = "The file is damaged or was changed; export it again."


@dataclass(frozen=True)
class FacesUsed:
    """The faces that a model was calibrated or measured on.

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
        return cls(text(saved, "name"), count(saved, "count"), text(saved, "sha256"))


@dataclass(frozen=True)
class CropContract:
    """The input of the network: size, grey or RGB, and where the eyes and the mouth are."""

    size: int
    channels: Channels
    framing: Framing

    def as_json(self) -> dict[str, object]:
        return {"size": self.size, "channels": self.channels, "framing": self.framing.as_json()}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> CropContract:
        size, channels = int(saved["size"]), saved["channels"]
        if size < 1 or channels not in (1, 3):
            raise ValueError("needs a size of at least 1 and 1 or 3 channels")
        return cls(size, channels, Framing.from_json(saved["framing"]))


@dataclass(frozen=True)
class MeasuredModel:
    """What the live app needs of a model: its labels, its crop, and how far to trust it.

    A recorded session carries it too, so that it can be replayed without the model file.
    """

    name: str
    precision: str  # one of PRECISIONS
    labels: tuple[str, ...]
    crop: CropContract
    evaluation: Evaluation  # of the model on held-out faces


@dataclass(frozen=True)
class ModelCard(MeasuredModel):
    """What a model file says of itself; ``evaluation`` is over the faces of ``measured_on``."""

    mirror: bool  # the graph also reads each face's mirror image, and averages the two
    temperature: float  # already applied in the graph
    recipe: Mapping[str, Any]
    parent: str  # SHA-256 of the checkpoint or model file that it was made from
    calibrated_on: tuple[FacesUsed, ...]
    measured_on: FacesUsed
    licence: str
    created_by: str
    targets: tuple[str, ...] = ()  # the machines that it was quantized for; empty: any
    quantization: Mapping[str, Any] = field(default_factory=dict)  # how it was quantized
    offsets: tuple[float, ...] = ()  # one per label, already in the logits; fitted on calibrated_on

    @property
    def layers_in_fp32(self) -> tuple[str, ...]:
        """Of a quantized model: the layers never quantized, and those that the gate restored."""
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
            "figures": evaluation_as_json(self.evaluation),
            "licence": self.licence,
            "created_by": self.created_by,
            "targets": list(self.targets),
            "quantization": dict(self.quantization),
            "offsets": list(self.offsets),
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
        keys = {entry.name: KEYS.get(entry.name, entry.name) for entry in fields(cls)}
        missing = [key for key in keys.values() if key not in entries and key not in ADDED_LATER]
        if missing:
            raise RankotomError(f"it says nothing of its {', '.join(missing)}. {EXPORT_AGAIN}")
        return cls(
            **{name: _parse(key, entries[key]) for name, key in keys.items() if key in entries}
        )


def evaluation_as_json(evaluation: Evaluation) -> dict[str, Any]:
    """As a model file and a recorded session hold it: keys in order, six decimals (finer than any
    interval), and without ``model``, which is the file itself."""
    saved = {key: value for key, value in evaluation.as_json().items() if key != "model"}
    rounded: dict[str, Any] = json.loads(
        json.dumps(saved, sort_keys=True), parse_float=lambda digits: round(float(digits), 6)
    )
    return rounded


def _check_format(found: str | None) -> None:
    if found is None:
        raise RankotomError(
            "it is an ONNX file without our metadata, so its labels, crop and temperature are "
            "unknown. Make one with: rankotom-edge export"
        )
    if not (found.isdecimal() and len(found) < 10):
        raise RankotomError(f"its format is {_shorten(found)!r}, not a number. {EXPORT_AGAIN}")
    if int(found) > FORMAT:
        raise RankotomError(
            f"it is of format {found}, and this version reads up to {FORMAT}. "
            "Update rankotom-edge, or export it with this version."
        )


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _parse(name: str, text: str) -> Any:
    try:
        return _PARSERS.get(name, _line)(text)
    except UNREADABLE as error:
        raise RankotomError(
            f"its {name} cannot be read: {_shorten(text)!r} ({error}). {EXPORT_AGAIN}"
        ) from error


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}…"


def _line(value: str) -> str:
    return text({"text": value}, "text")


def _labels(text: str) -> tuple[str, ...]:
    names = load_json(text)
    if not isinstance(names, list) or not names:
        raise ValueError("needs a list of names")
    return as_classes(names, len(names))


def _quantization(text: str) -> Mapping[str, Any]:
    record = _record(text)
    if record:
        kept = record["layers_in_fp32"]
        if not (isinstance(kept, list) and all(isinstance(layer, str) for layer in kept)):
            raise ValueError("needs the layers in FP32 as a list of names")
        FacesUsed.from_json(record["judged_on"])
        if not isinstance(record["ece_checked"], bool):
            raise ValueError("ece_checked needs true or false")
        if change := record.get("change"):
            _check_numbers(change[name] for name in ("accuracy", "ece", "aece", "flips"))
    return record


def _targets(text: str) -> tuple[str, ...]:
    names = load_json(text)
    if not (isinstance(names, list) and all(name in TARGETS for name in names)):
        raise ValueError(f"needs a list of {', '.join(TARGETS)}")
    return tuple(names)


def _temperature(text: str) -> float:
    temperature = float(text)
    if not (math.isfinite(temperature) and temperature > 0):
        raise ValueError("needs a number above 0")
    return temperature


def _offsets(text: str) -> tuple[float, ...]:
    offsets = load_json(text)
    if not isinstance(offsets, list):
        raise ValueError("needs a list of numbers")
    _check_numbers(offsets)
    return tuple(float(each) for each in offsets)


def _precision(text: str) -> str:
    if text not in PRECISIONS:
        raise ValueError(f"needs one of {', '.join(PRECISIONS)}")
    return text


def _flag(text: str) -> bool:
    return {"true": True, "false": False}[text]


def _record(text: str) -> Mapping[str, Any]:
    record = load_json(text)
    if not isinstance(record, dict):
        raise ValueError("needs a JSON object")
    return record


def _check_numbers(values: Iterable[object]) -> None:
    for value in values:
        if not isinstance(value, (int, float)):
            raise ValueError(f"needs a number, not {value!r}")


def _recipe(text: str) -> Mapping[str, Any]:
    recipe = _record(text)
    for run in recipe.get("runs", []):  # whose weights were averaged
        str(run["name"])
    return recipe


_PARSERS = {
    "labels": _labels,
    "crop": lambda text: CropContract.from_json(_record(text)),
    "mirror": _flag,
    "temperature": _temperature,
    "precision": _precision,
    "recipe": _recipe,
    "calibrated_on": lambda text: tuple(FacesUsed.from_json(used) for used in load_json(text)),
    "measured_on": lambda text: FacesUsed.from_json(_record(text)),
    "figures": lambda text: Evaluation.from_json(_record(text)),
    "targets": _targets,
    "quantization": _quantization,
    "offsets": _offsets,
}
