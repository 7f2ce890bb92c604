"""Keeps the faces of a camera in a folder, if asked: for a second rater, and for another day.

``faces.jsonl`` has one line a face, with what the model said; each picture is a PNG of its own, so
that a face can be deleted by deleting its picture. All are private to their owner.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from calib.errors import RankotomError
from calib.files import replace_file
from calib.input_files import read_input
from calib.json_fields import as_mapping, load_json
from rankotom_edge.labelling.face import FaceToLabel
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.pictures import read_picture

INDEX = "faces.jsonl"
KEY = re.compile(r"[0-9a-f]{16}")
MOST_BYTES = 16 * 1024**2  # of the index: some 40,000 faces
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
# An integer too large for a float overflows, brackets nested too deep end in a RecursionError.
UNREADABLE = (ValueError, TypeError, KeyError, OverflowError, RecursionError)


def keep_faces(folder: Path, faces: Sequence[FaceToLabel], artifact: Artifact, source: str) -> None:
    """Into a new or empty folder: faces of two cameras must not be mixed."""
    make_empty_folder(folder)
    for face in faces:
        encoded = cv2.imencode(".png", face.picture)[1]
        with replace_file(folder / f"{face.key}.png", mode=PRIVATE_FILE) as file:
            file.write_bytes(encoded.tobytes())
    about = {"model": artifact.sha256, "source": source}
    lines = [_line(face, about) for face in faces]
    with replace_file(folder / INDEX, mode=PRIVATE_FILE) as file:
        file.write_text("".join(lines), encoding="utf-8")


def make_empty_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise RankotomError(f"{folder} is not empty. Name a new folder to keep the faces in.")
    except OSError as error:
        raise RankotomError(f"Cannot keep faces in {folder}: {error.strerror}.") from error


def holds_faces(folder: Path) -> bool:
    return (folder / INDEX).is_file()


def read_kept_faces(folder: Path, artifact: Artifact) -> tuple[list[FaceToLabel], str]:
    """The faces whose picture is still there, and the source that they are of."""
    path = folder / INDEX
    faces, source = [], ""
    for number, line in enumerate(read_input(path, MOST_BYTES).splitlines(), start=1):
        try:
            saved = as_mapping(load_json(line))
            key, model, source = (str(saved[name]) for name in ("key", "model", "source"))
            group, logits = str(saved["group"]), _logits(saved, len(artifact.card.labels))
            if not KEY.fullmatch(key):
                raise ValueError(f"{key[:40]!r} is not a face's key")
        except UNREADABLE as error:
            raise RankotomError(
                f"Line {number} of {path} is not as rankotom-edge writes it ({error!r:.200}). It "
                "was changed or damaged."
            ) from error
        if model != artifact.sha256:
            raise RankotomError(
                f"The faces in {folder} were read by another model. Calibrate that one (--model), "
                "or collect faces again."
            )
        with suppress(RankotomError):  # deleted, as a person may ask for
            picture = read_picture(folder / f"{key}.png")
            faces.append(FaceToLabel(key, group, picture, logits))
    return faces, source


def _line(face: FaceToLabel, about: dict[str, str]) -> str:
    logits = np.round(face.logits, 6).tolist()
    content = {"key": face.key, "group": face.group, "logits": logits, **about}
    return json.dumps(content, allow_nan=False) + "\n"


def _logits(saved: Mapping[str, Any], labels: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    if not isinstance(saved["logits"], list):
        raise ValueError("needs a list of logits")
    numbers = [float(each) for each in saved["logits"]]
    if len(numbers) != labels or not all(map(math.isfinite, numbers)):
        raise ValueError(f"needs {labels} finite logits")
    return np.array(numbers, np.float64)
