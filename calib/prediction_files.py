"""Predictions of any model, read from a ``.npz`` or ``.csv`` file."""

import csv
import re
import zipfile
import zlib
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from calib.arrays import FloatArray, as_classes, as_labels, as_numbers, as_probabilities, as_votes
from calib.errors import RankotomError
from calib.predictions import Predictions, default_classes

Arrays: TypeAlias = dict[str, NDArray[np.generic]]

ARRAY_OF_COLUMN = {"probability": "probabilities", "logit": "logits", "votes": "votes"}
CSV_COLUMNS = (
    "A predictions file has a column probability:NAME or logit:NAME for each class and a column "
    "label."
)
ROW = re.compile(r"\brow (\d+)")


def read_predictions(path: Path) -> Predictions:
    """Read one of two formats:

    ``.npz``: arrays ``probabilities`` or ``logits`` (n, k) and ``labels`` (n,), optionally
    ``votes`` (n, k) and ``classes`` (k,). No pickled objects.

    ``.csv``: a header and a row per sample, with a column ``probability:<class>`` or
    ``logit:<class>`` for each class, a column ``label`` and optionally ``votes:<class>`` for
    each class. Other columns are ignored.

    A label is a class index or a class name. In a file with both probabilities and logits, the
    probabilities are measured and the logits are used to fit a temperature.
    """
    readers = {".npz": _from_npz, ".csv": _from_csv}
    path = Path(path)
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise RankotomError(
            f"Cannot read predictions from {path}: expected a file that ends in .npz or .csv."
        )
    try:
        return reader(path)
    except FileNotFoundError as error:
        raise RankotomError(f"There is no predictions file {path}.") from error
    except OSError as error:
        raise RankotomError(f"Cannot read {path}: {error.strerror}.") from error
    except RankotomError as error:
        raise RankotomError(f"{path}: {error}") from error


def _assemble(arrays: Arrays) -> Predictions:
    scores = "probabilities" if "probabilities" in arrays else "logits"
    missing = [name for name in (scores, "labels") if name not in arrays]
    if missing:
        wanted = ["probabilities or logits" if name == "logits" else name for name in missing]
        raise RankotomError(
            f"found no {' and no '.join(wanted)}, only {', '.join(sorted(arrays)) or 'nothing'}. "
            "A predictions file holds probabilities or logits (n, k) and labels (n)."
        )
    columns = as_numbers(arrays[scores], scores, dimensions=2).shape[1]
    classes = as_classes(
        [_text(name) for name in arrays["classes"].ravel()]
        if "classes" in arrays
        else default_classes(columns),
        columns,
    )
    labels = arrays["labels"]
    if labels.dtype.kind in "US":
        words = [_text(label) for label in labels.ravel()]
        places = [f"row {row}" for row in range(len(words))]
        labels = _label_indices(words, places, classes).reshape(labels.shape)
    votes = arrays.get("votes")
    if scores == "logits":
        return Predictions.from_logits(arrays["logits"], labels, classes, votes)
    samples = len(arrays[scores])
    return Predictions(
        probabilities=as_probabilities(arrays[scores]),
        labels=as_labels(labels, samples, columns),
        classes=classes,
        logits=as_numbers(arrays["logits"], "logits", 2) if "logits" in arrays else None,
        votes=None if votes is None else as_votes(votes, samples, columns),
    )


def _from_npz(path: Path) -> Predictions:
    """Reads the bytes first: zipfile reports an unreadable file as one that is not an archive."""
    content = BytesIO(path.read_bytes())
    if not zipfile.is_zipfile(content):
        raise RankotomError("this is not a .npz archive. Write it with numpy.savez.")
    try:
        with np.load(content, allow_pickle=False) as archive:
            arrays = {name: np.asarray(archive[name]) for name in archive.files}
    except ValueError as error:
        if str(error).startswith("Object arrays"):
            raise RankotomError(
                "an array holds pickled Python objects, which can run code when read. "
                "Save plain numbers and strings."
            ) from error
        raise RankotomError(f"this .npz archive cannot be read ({error}).") from error
    except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise RankotomError(f"this .npz archive cannot be read ({error}).") from error
    return _assemble(arrays)


def _from_csv(path: Path) -> Predictions:
    header, lines = _csv_lines(path)
    arrays = _csv_arrays(header, lines)
    numbers = list(lines)
    try:
        return _assemble(arrays)
    except RankotomError as error:
        # The checks count rows from 0; an editor counts lines, header and blank lines included.
        words = ROW.sub(lambda row: f"line {numbers[int(row[1])]}", str(error))
        raise RankotomError(words) from error


def _csv_arrays(header: list[str], lines: dict[int, list[str]]) -> Arrays:
    columns = {name: index for index, name in enumerate(header)}
    kinds = {
        kind: [name.removeprefix(f"{kind}:") for name in header if name.startswith(f"{kind}:")]
        for kind in ARRAY_OF_COLUMN
    }
    missing = [] if kinds["probability"] or kinds["logit"] else ["probability:NAME or logit:NAME"]
    missing += [] if "label" in columns else ["label"]
    if missing:
        found = ", ".join(header) or "nothing"
        raise RankotomError(
            f"found no column {' and no column '.join(missing)}, only {found}. {CSV_COLUMNS}"
        )
    classes = kinds["probability"] or kinds["logit"]
    arrays: Arrays = {"classes": np.array(classes, dtype=np.str_)}
    for kind, words in kinds.items():
        if not words:
            continue
        if set(words) != set(classes):
            raise RankotomError(
                f"the {kind} columns name {', '.join(words)}, "
                f"but the first such columns name {', '.join(classes)}."
            )
        arrays[ARRAY_OF_COLUMN[kind]] = _csv_numbers(
            lines, {name: columns[name] for name in (f"{kind}:{word}" for word in classes)}
        )
    words = [fields[columns["label"]].strip() for fields in lines.values()]
    places = [f"line {number}" for number in lines]
    arrays["labels"] = _label_indices(words, places, tuple(classes))
    return arrays


def _csv_lines(path: Path) -> tuple[list[str], dict[int, list[str]]]:
    """The header and the fields of every line that is not blank, by line number."""
    lines: dict[int, list[str]] = {}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, [])]
            for fields in reader:
                if fields:
                    lines[reader.line_num] = fields
    except (UnicodeDecodeError, csv.Error) as error:
        raise RankotomError(f"this is not a readable CSV file ({error}).") from error
    if len(set(header)) != len(header):
        raise RankotomError("the header names a column twice.")
    for number, fields in lines.items():
        if len(fields) != len(header):
            raise RankotomError(
                f"line {number} has {len(fields)} fields, but the header names {len(header)}."
            )
    return header, lines


def _csv_numbers(lines: dict[int, list[str]], columns: dict[str, int]) -> FloatArray:
    values = np.empty((len(lines), len(columns)))
    for row, (number, fields) in enumerate(lines.items()):
        for position, (name, column) in enumerate(columns.items()):
            try:
                values[row, position] = float(fields[column])
            except ValueError as error:
                raise RankotomError(
                    f"line {number} holds {fields[column]!r} under {name}, not a number."
                ) from error
    return values


def _label_indices(
    words: Sequence[str], places: Sequence[str], classes: tuple[str, ...]
) -> FloatArray:
    """Names become indices; anything else must be an index, checked later against the classes."""
    positions = {name: float(index) for index, name in enumerate(classes)}
    indices = []
    for word, place in zip(words, places, strict=True):
        if word in positions:
            indices.append(positions[word])
        elif word.removeprefix("-").isdecimal():
            indices.append(float(word))
        else:
            raise RankotomError(
                f"the label {word!r} in {place} is neither a class index nor one of "
                f"{', '.join(classes)}."
            )
    return np.array(indices, dtype=np.float64)


def _text(value: object) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)
