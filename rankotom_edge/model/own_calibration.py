"""The calibration of a model on the user's own faces: a small file for one model and one source.

The model file stays as it is. The file is not beside it but in the user's data folder, because an
embedded model lies inside the installed package.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from calib.arrays import FloatArray, as_classes
from calib.errors import RankotomError
from calib.files import replace_file
from calib.input_files import read_input
from calib.json_fields import as_list, as_mapping, count, load_json, text, text_or_none
from calib.label_trial import LabelTrial
from calib.metrics import BINS, bin_of
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.card import UNREADABLE, MeasuredModel

FORMAT = 1
CALIBRATION, LABELS = ".calibration.json", ".labels.jsonl"
MOST_BYTES = 1024**2  # a hundred times what is written
MAX_NAME = 100  # characters of a source's name in a file's name
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600


def calibrations_folder() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    return Path(base) / "rankotom-edge" / "calibrations"


def make_calibrations_folder() -> Path:
    folder = calibrations_folder()
    try:
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise RankotomError(f"Cannot make the folder {folder}: {error.strerror}.") from error
    return folder


@dataclass(frozen=True)
class Usual:
    """What the calibrated model says of all faces that were found, labelled or not. The labelled
    ones are spread over confidence, so they do not show what is usual."""

    confidences: tuple[int, ...]  # counts, in equal bins of confidence
    labels: tuple[int, ...]  # counts, by the model's labels

    @classmethod
    def of(cls, probabilities: FloatArray) -> Usual:
        bins = bin_of(np.minimum(probabilities.max(axis=1), 1.0), BINS)
        labels = np.bincount(probabilities.argmax(axis=1), minlength=probabilities.shape[1])
        confidences = np.bincount(bins, minlength=BINS)
        return cls(tuple(confidences.tolist()), tuple(labels.tolist()))

    def as_json(self) -> dict[str, object]:
        return {"confidences": list(self.confidences), "labels": list(self.labels)}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any], labels: int) -> Usual:
        found = cls(*(_counts(saved, name) for name in ("confidences", "labels")))
        if len(found.confidences) != BINS or len(found.labels) != labels:
            raise ValueError(f"usual needs {BINS} bins of confidence and {labels} labels")
        return found


@dataclass(frozen=True, eq=False)
class SavedCalibration:
    model: str
    sha256: str  # of the model file
    classes: tuple[str, ...]
    source: str  # as the views name it: "camera 0"
    created: datetime
    trial: LabelTrial
    usual: Usual
    expired: str | None = None  # what drifted: "light is low since 2026-11-18 10:42"
    labels_since: datetime | None = None  # of the last drift: labels from before it do not count

    @property
    def words(self) -> str:
        """For the status line of every view."""
        return f"calibrated on {self.trial.faces} own faces"

    def apply(self, logits: FloatArray) -> FloatArray:
        """Probabilities from the model's logits, divided by its temperature."""
        return self.trial.calibration.apply(logits)

    def measured_model(self, model: MeasuredModel) -> MeasuredModel:
        """The model as measured on the user's faces. There are too few of them for guarantees and
        prediction sets, and mostly for the marks of single bars (``reliability.FEWEST_FACES``)."""
        after = self.trial.after
        evaluation = replace(
            model.evaluation,
            n=self.trial.faces,
            metrics={**model.evaluation.metrics, "ece": after.ece},
            reliability=tuple(after.bins),
            other_bars=(),
            thresholds=(),
            set_masses=(),
        )
        return MeasuredModel(model.name, model.precision, model.labels, model.crop, evaluation)

    def summary(self) -> dict[str, object]:
        """For the reports and recordings of a run that uses it."""
        return {
            "words": self.words,
            "created": self.created.isoformat(timespec="seconds"),
            "faces": self.trial.faces,
            "labels": self.trial.labels,
            **self.trial.calibration.as_json(),
        }

    def as_json(self) -> dict[str, object]:
        return {
            "format": FORMAT,
            "model": {"name": self.model, "sha256": self.sha256, "labels": list(self.classes)},
            "source": self.source,
            "created": self.created.isoformat(timespec="seconds"),
            "trial": self.trial.as_json(),
            "usual": self.usual.as_json(),
            "expired": self.expired,
            "labels_since": None if self.labels_since is None else self.labels_since.isoformat(),
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> SavedCalibration:
        if saved["format"] != FORMAT:
            raise ValueError(f"format {saved['format']!r}; this version reads {FORMAT}")
        model = as_mapping(saved["model"])
        classes = as_classes(as_list(model["labels"]), len(as_list(model["labels"])))
        since = text_or_none(saved, "labels_since")
        trial = LabelTrial.from_json(as_mapping(saved["trial"]))
        if len(trial.calibration.offsets) not in (0, len(classes)):
            raise ValueError(f"needs {len(classes)} offsets, or none")
        return cls(
            model=text(model, "name"),
            sha256=text(model, "sha256"),
            classes=classes,
            source=str(saved["source"]),  # of any characters, as a file's name
            created=datetime.fromisoformat(text(saved, "created")),
            trial=trial,
            usual=Usual.from_json(as_mapping(saved["usual"]), len(classes)),
            expired=text_or_none(saved, "expired"),
            labels_since=None if since is None else datetime.fromisoformat(since),
        )


def save_calibration(calibration: SavedCalibration, artifact: Artifact) -> Path:
    """Replaces an earlier one of the same model and source."""
    path = calibration_path(artifact, calibration.source, make_calibrations_folder())
    _write(path, calibration)
    return path


def find_calibration(artifact: Artifact, source: str) -> SavedCalibration | None:
    """Also an expired one."""
    path = calibration_path(artifact, source, calibrations_folder())
    if not path.exists():
        return None
    found = read_calibration(path)
    # A file that was renamed or copied is not of this model and source.
    matches = (found.source, found.sha256) == (source, artifact.sha256)
    return found if matches and found.classes == artifact.card.labels else None


def expire_calibration(
    artifact: Artifact, calibration: SavedCalibration, words: str, now: datetime
) -> None:
    """It is kept, and no longer used. One that was forgotten or made again meanwhile stays so."""
    kept = find_calibration(artifact, calibration.source)
    if kept is not None and kept.created == calibration.created:
        path = calibration_path(artifact, calibration.source, calibrations_folder())
        _write(path, replace(kept, expired=words, labels_since=now))


def calibration_path(artifact: Artifact, source: str, folder: Path) -> Path:
    return folder / f"{_file_name(source)}+{artifact.sha256[:16]}{CALIBRATION}"


def labels_path(source: str, folder: Path) -> Path:
    """For all models: each label names the model that read its face."""
    return folder / f"{_file_name(source)}{LABELS}"


def calibration_files() -> list[Path]:
    return sorted(calibrations_folder().glob(f"*{CALIBRATION}"))


def read_calibration(path: Path) -> SavedCalibration:
    content = read_input(path, MOST_BYTES)
    try:
        return SavedCalibration.from_json(as_mapping(load_json(content)))
    except (*UNREADABLE, RankotomError) as error:
        raise RankotomError(
            f"The calibration {path} is not as rankotom-edge writes it ({error!s:.200}). Remove "
            "it, and calibrate again."
        ) from error


def _write(path: Path, calibration: SavedCalibration) -> None:
    document = json.dumps(calibration.as_json(), indent=1, allow_nan=False)
    with replace_file(path, mode=PRIVATE_FILE) as file:
        file.write_text(f"{document}\n", encoding="utf-8")


def _file_name(source: str) -> str:
    """Readable; the hash keeps names apart that are cut."""
    name = quote(source, safe=" ", errors="surrogateescape")
    if len(name) <= MAX_NAME:
        return name
    whole = source.encode(errors="surrogateescape")
    return f"{name[:MAX_NAME]}-{hashlib.sha256(whole).hexdigest()[:16]}"


def _counts(saved: Mapping[str, Any], name: str) -> tuple[int, ...]:
    return tuple(count({name: each}, name) for each in as_list(saved[name]))
