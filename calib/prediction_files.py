"""Predictions of any model, read from a ``.npz`` or ``.csv`` file."""

import csv
import lzma
import math
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from calib.arrays import FloatArray, as_classes, as_labels, as_numbers, as_probabilities, as_votes
from calib.errors import RankotomError
from calib.input_files import MEGABYTE, read_input
from calib.predictions import Predictions, default_classes

Arrays: TypeAlias = dict[str, NDArray[np.generic]]

ARRAY_OF_COLUMN = {"probability": "probabilities", "logit": "logits", "votes": "votes"}
CSV_COLUMNS = (
    "A predictions file has a column probability:NAME or logit:NAME for each class and a column "
    "label."
)
# Chosen by eye, a hundred times what a large data set takes: two million faces.
MOST_BYTES, MOST_NUMBERS = 256 * MEGABYTE, 16 * 1024**2
MOST_CSV_BYTES = 32 * MEGABYTE  # each field becomes an object of Python's, twenty times as large
MOST_CLASSES = 1000

ARRAYS = ("probabilities", "logits", "labels", "votes", "classes")
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
NO_TEXT = np.zeros(0, np.uint32)
# The end of an archive without a comment (signature, size of the directory), and what stands before
# it if the archive is of the kind for more than 65,535 members.
DIRECTORY_END = struct.Struct("<4s8xI6x")
LARGE_DIRECTORY, MOST_DIRECTORY = 20, 64 * 1024
NPZ_DAMAGE = (ValueError, OSError, EOFError, RuntimeError, MemoryError, struct.error,
              zipfile.BadZipFile, zlib.error, lzma.LZMAError)  # fmt: skip
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
    readers = {".npz": (_from_npz, MOST_BYTES), ".csv": (_from_csv, MOST_CSV_BYTES)}
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in readers:
        raise RankotomError(
            f"Cannot read predictions from {path}: expected a file that ends in .npz or .csv."
        )
    reader, most = readers[suffix]
    content = read_input(path, most)
    try:
        return reader(content)
    except RankotomError as error:
        raise RankotomError(f"{path}: {error}") from error


def _assemble(arrays: Arrays, found: Sequence[str]) -> Predictions:
    """``found`` names what is in the file, for the error if it is something else."""
    scores = "probabilities" if "probabilities" in arrays else "logits"
    missing = [name for name in (scores, "labels") if name not in arrays]
    if missing:
        wanted = ["probabilities or logits" if name == "logits" else name for name in missing]
        raise RankotomError(
            f"found no {' and no '.join(wanted)}, only {', '.join(found)[:200] or 'nothing'}. "
            "A predictions file holds probabilities or logits (n, k) and labels (n)."
        )
    samples, columns = as_numbers(arrays[scores], scores, dimensions=2).shape
    if columns > MOST_CLASSES:
        raise RankotomError(f"the {scores} name {columns:,} classes; at most {MOST_CLASSES:,} do.")
    classes = as_classes(
        [_text(name) for name in arrays["classes"].ravel()[: MOST_CLASSES + 1]]
        if "classes" in arrays
        else default_classes(columns),
        columns,
    )
    labels = arrays["labels"]
    if labels.dtype.kind in "US" and labels.shape == (samples,):
        words = [_text(label) for label in labels.ravel()]
        places = [f"row {row}" for row in range(len(words))]
        labels = _label_indices(words, places, classes).reshape(labels.shape)
    votes = arrays.get("votes")
    if scores == "logits":
        return Predictions.from_logits(arrays["logits"], labels, classes, votes)
    return Predictions(
        probabilities=as_probabilities(arrays[scores]),
        labels=as_labels(labels, samples, columns),
        classes=classes,
        logits=as_numbers(arrays["logits"], "logits", 2) if "logits" in arrays else None,
        votes=None if votes is None else as_votes(votes, samples, columns),
    )


def _from_npz(content: bytes) -> Predictions:
    """Reads only the arrays that are used, and only once their size is known to be plausible."""
    if not zipfile.is_zipfile(BytesIO(content)):
        raise RankotomError("this is not a .npz archive. Write it with numpy.savez.")
    try:
        _check_directory(content)
        with zipfile.ZipFile(BytesIO(content)) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            wanted = [name for name in ARRAYS if name in members]
            unpacked = sum(members[name].file_size for name in wanted)
            if unpacked > MOST_BYTES:
                raise ValueError(f"{unpacked:,} bytes unpacked; at most {MOST_BYTES:,} are read")
            arrays = {name: _read_member(archive, members[name]) for name in wanted}
    except NPZ_DAMAGE as error:
        raise RankotomError(f"this .npz archive cannot be read ({error}).") from error
    return _assemble(arrays, found=sorted(members))


def _check_directory(content: bytes) -> None:
    """Of the members; zipfile reads it whole, and one of a million entries takes gigabytes."""
    signature, size = DIRECTORY_END.unpack(content[-DIRECTORY_END.size :])
    before = content[-DIRECTORY_END.size - LARGE_DIRECTORY : -DIRECTORY_END.size]
    if signature != b"PK\5\6" or size > MOST_DIRECTORY or before.startswith(b"PK\6\7"):
        raise ValueError("it has too many members, or a comment")


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[np.generic]:
    """What the header claims must be what is there: numpy would allocate what is claimed."""
    with archive.open(info) as member:
        try:
            version = np.lib.format.read_magic(member)
            shape, by_column, kind = HEADERS[version](member)
        except Exception as error:  # numpy reads it with Python's own parser, which raises anything
            raise ValueError(f"the header of {info.filename} is damaged") from error
        if kind.hasobject:
            raise RankotomError(
                "an array holds pickled Python objects, which can run code when read. "
                "Save plain numbers and strings."
            )
        count, here = math.prod(shape), info.file_size - member.tell()
        if count > MOST_NUMBERS:
            raise ValueError(f"{info.filename} is {shape}, more than {MOST_NUMBERS:,} values")
        if count * kind.itemsize != here:
            raise ValueError(f"{info.filename} claims to be {shape} of {kind}, in {here:,} bytes")
        content = member.read()
        # What is no character ends in a SystemError once it becomes text.
        characters = np.frombuffer(content, f"{kind.str[0]}u4") if kind.kind == "U" else NO_TEXT
        if characters.max(initial=0) > sys.maxunicode:
            raise ValueError(f"{info.filename} has text that is not Unicode")
        values = np.frombuffer(content, kind) if here else np.zeros(shape, kind)
        return values.reshape(shape, order="F" if by_column else "C")


def _from_csv(content: bytes) -> Predictions:
    header, lines = _csv_lines(content)
    arrays = _csv_arrays(header, lines)
    numbers = list(lines)
    try:
        return _assemble(arrays, found=header)
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


def _csv_lines(content: bytes) -> tuple[list[str], dict[int, list[str]]]:
    """The header and the fields of every line that is not blank, by line number."""
    lines: dict[int, list[str]] = {}
    try:
        reader = csv.reader(StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
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
