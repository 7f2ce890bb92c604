"""The paper's data sets in their official layouts: files and labels, but no pixels.

FERPlus: labels and votes come from ``fer2013new.csv``, with ten voters for each face. The
``label.csv`` files next to the pictures are not read: their votes differ in 1,073 rows of train and
246 of valid, which changes 194 and 38 labels. The protocol behind every result on FERPlus:

- Rows without an image name are those that FERPlus marks "not a face". The named pictures are the
  28,558 / 3,579 / 3,573 of the paper and of the ``data/`` folders.
- A face without a vote for any of the eight emotions (all ten for "unknown" or "not a face") is
  left out: two in train. A single vote for an emotion keeps a face in.
- The label is the emotion with the most votes; in a tie (1,366 faces in train, 143 in valid) the
  first in FERPlus's order. The eight counts are kept as ``votes``.
- Four names appear in two rows. The later row counts: FERPlus's own script overwrites the earlier
  picture.

RAF-DB and AffectNet have one held-out part, which is both ``valid`` and ``test``.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calib.emotions import EMOTIONS
from calib.errors import RankotomError
from calib.input_files import MEGABYTE, expand_home, open_input, read_input

MOST_TABLE = 64 * MEGABYTE  # FERPlus's has 2 MB
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
DatasetName = Literal["ferplus", "rafdb", "rafdb-compound", "affectnet", "lfw"]
Half = Literal["choose", "report"]  # of FERPlus valid
Split = Literal["train", "valid", "test"]

FERPLUS_SPLITS = {
    "train": ("Training", "FER2013Train"),
    "valid": ("PublicTest", "FER2013Valid"),
    "test": ("PrivateTest", "FER2013Test"),
}

# In the official order: RAF-DB counts from 1, AffectNet from 0. AffectNet's 8, 9 and 10 (none,
# uncertain, no face) are no emotions, and the paper leaves them out.
RAFDB_LABELS = ("surprise", "fear", "disgust", "happiness", "sadness", "anger", "neutral")
RAFDB_COMPOUND_LABELS = (
    "happily surprised",
    "happily disgusted",
    "sadly fearful",
    "sadly angry",
    "sadly surprised",
    "sadly disgusted",
    "fearfully angry",
    "fearfully surprised",
    "angrily surprised",
    "angrily disgusted",
    "disgustedly surprised",
)
AFFECTNET_LABELS = (
    "neutral",
    "happiness",
    "sadness",
    "surprise",
    "fear",
    "disgust",
    "anger",
    "contempt",
)

# The paper's table of data sets (Appendix), in annotated images.
PAPER_COUNTS = {
    "ferplus": {"train": 28_558, "valid": 3_579, "test": 3_573},
    "rafdb": {"train": 12_271, "valid": 3_068, "test": 3_068},
    "rafdb-compound": {"train": 3_162, "valid": 792, "test": 792},
    "affectnet": {"train": 287_651, "valid": 3_999, "test": 3_999},
    "lfw": {"train": 13_233},
}


@dataclass(frozen=True, eq=False)
class FaceSet:
    """The faces of one split: their files, and what annotators said."""

    name: str  # "ferplus/train"
    files: tuple[Path, ...]
    classes: tuple[str, ...]
    labels: IntArray | None = None  # (n,), index into classes; None without labels
    votes: FloatArray | None = None  # (n, k), votes for each class; FERPlus only

    def __len__(self) -> int:
        return len(self.files)

    def subset(self, indices: IntArray) -> FaceSet:
        return replace(
            self,
            files=tuple(self.files[index] for index in indices),
            labels=None if self.labels is None else self.labels[indices],
            votes=None if self.votes is None else self.votes[indices],
        )


@dataclass(frozen=True)
class _Layout:
    """How to recognise and read one data set."""

    title: str
    folders: tuple[str, ...]  # names that its folder may have
    marker: str  # a path that only its folder contains
    read: Callable[[Path, Split], tuple[int, FaceSet]]  # number of pictures, usable faces


def data_folder(given: Path | None) -> Path:
    """``--data`` if given, else ``$RANKOTOM_DATA``, else ``~/.cache/rankotom-edge``."""
    chosen = given or os.environ.get("RANKOTOM_DATA") or "~/.cache/rankotom-edge"
    return expand_home(chosen)


def load_dataset(
    name: DatasetName, folder: Path, split: Split, check_count: bool = True
) -> FaceSet:
    """The faces of a split. ``folder`` is the data set's own folder or its parent.

    ``check_count`` compares the number of pictures with the paper's table, so that an incomplete
    data set is noticed before a night of training.
    """
    layout = _LAYOUTS[name]
    expected = PAPER_COUNTS[name].get(split)
    if expected is None:
        raise RankotomError(f"{layout.title} has no {split} split; it has only train.")
    pictures, faces = layout.read(_root(layout, folder), split)
    if not len(faces):
        raise RankotomError(f"{layout.title} {split}: no labelled picture found in {folder}.")
    if check_count and pictures != expected:
        difference = f"{abs(pictures - expected):,} {'missing' if pictures < expected else 'extra'}"
        raise RankotomError(
            f"{layout.title} {split} should have {expected:,} pictures and {folder} has "
            f"{pictures:,} ({difference}). Unpack it again, or leave out the count check."
        )
    if split == "train":
        _check_classes(layout.title, faces)
    return faces


def validation_half(faces: FaceSet, which: Half) -> FaceSet:
    """The choosing half (even numbers in the file names) or the reporting half (odd numbers).

    Decisions (epoch, temperature) are made on one half of valid and results reported on the other.
    Splitting by parity needs neither a seed nor a list, and filtering does not change it. FERPlus
    valid has 1,790 and 1,789 faces, with every class in both halves (contempt: 12 and 13).
    """
    odd = np.array([_number(file) % 2 for file in faces.files], dtype=bool)
    chosen = faces.subset(np.flatnonzero(odd if which == "report" else ~odd))
    return replace(chosen, name=f"{faces.name}/{which}")


def _number(file: Path) -> int:
    digits = re.findall(r"\d+", file.stem)
    if not digits:
        raise RankotomError(f"{file} has no number in its name, so it belongs to neither half.")
    return int(digits[-1])


def _root(layout: _Layout, folder: Path) -> Path:
    for candidate in (folder, *(folder / name for name in layout.folders)):
        if any(candidate.glob(layout.marker)):
            return candidate
    packed = [path for path in folder.glob("*.zip") if layout.title.lower() in path.name.lower()]
    if packed:
        raise RankotomError(
            f"{layout.title} is still packed. Unpack it into the default folder: "
            f"unzip -q {packed[0]} -d ~/.cache/rankotom-edge"
        )
    raise RankotomError(
        f"No {layout.title} in {folder}: looked for {layout.marker} there and in "
        f"{' or '.join(layout.folders)}. Name its folder with --data or RANKOTOM_DATA."
    )


def _check_classes(title: str, faces: FaceSet) -> None:
    if faces.labels is None:
        return
    counts = np.bincount(faces.labels, minlength=len(faces.classes))
    missing = [name for name, count in zip(faces.classes, counts, strict=True) if count == 0]
    if missing:
        raise RankotomError(
            f"{title} train has no face of {', '.join(missing)}: a network cannot learn it. "
            "The pictures or the label file are incomplete. Unpack the data set again."
        )


def _read_ferplus(root: Path, split: Split) -> tuple[int, FaceSet]:
    usage, folder_name = FERPLUS_SPLITS[split]
    pictures = _pictures(root / "data" / folder_name, "*.png", f"FERPlus {split}")
    table = root / "fer2013new.csv"
    counts: dict[str, list[int]] = {}
    with _explain(table), open_input(table, MOST_TABLE) as file:
        for row in csv.DictReader(TextIOWrapper(file, encoding="utf-8", newline="")):
            if row.get("Usage") == usage and row.get("Image name"):
                try:
                    counts[row["Image name"]] = [_votes(row[emotion]) for emotion in EMOTIONS]
                except (KeyError, TypeError, ValueError) as error:
                    raise RankotomError(
                        f"{table}: the votes for {row['Image name']} are not eight numbers. "
                        "Get fer2013new.csv from github.com/microsoft/FERPlus again."
                    ) from error
    files = [file for file in pictures if any(counts.get(file.name, ()))]
    votes = np.array([counts[file.name] for file in files], dtype=np.float64)
    votes = votes.reshape(-1, len(EMOTIONS))
    return len(pictures), FaceSet(
        name=f"ferplus/{split}",
        files=tuple(files),
        classes=EMOTIONS,
        labels=votes.argmax(axis=1).astype(np.int64),
        votes=votes,
    )


def _votes(cell: str) -> int:
    votes = int(cell)
    if not 0 <= votes <= 1_000_000:
        raise ValueError(f"{cell:.40} votes")
    return votes


@contextmanager
def _explain(table: Path) -> Iterator[None]:
    try:
        yield
    except (UnicodeDecodeError, csv.Error) as error:
        raise RankotomError(f"{table} is not a readable table ({error}).") from error


def _read_rafdb(
    part: str, official: Sequence[str], classes: tuple[str, ...], root: Path, split: Split
) -> tuple[int, FaceSet]:
    table = root / part / "EmoLabel" / "list_patition_label.txt"  # their spelling
    prefix = "train" if split == "train" else "test"
    present = set(
        _pictures(root / part / "Image" / "aligned", f"{prefix}_*.jpg", f"RAF-DB {split}")
    )
    numbered = dict(enumerate(official, start=1))
    files, labels = [], []
    with _explain(table):
        lines = read_input(table, MOST_TABLE).decode().splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.startswith(prefix):
            continue
        try:
            picture, label = line.split()
            emotion = numbered[int(label)]
        except (ValueError, KeyError) as error:
            raise RankotomError(
                f"{table}, line {number}: expected a file and a label from 1 to {len(official)}, "
                f"found {line!r}."
            ) from error
        file = root / part / "Image" / "aligned" / f"{Path(picture).stem}_aligned.jpg"
        if file in present:
            files.append(file)
            labels.append(classes.index(emotion))
    name = "rafdb" if part == "basic" else "rafdb-compound"
    return len(files), _labelled_set(f"{name}/{prefix}", files, classes, labels)


def _read_affectnet(root: Path, split: Split) -> tuple[int, FaceSet]:
    part = root / ("train_set" if split == "train" else "val_set")
    files, labels = [], []
    for picture in _pictures(part / "images", "*.jpg", f"AffectNet {split}"):
        annotation = part / "annotations" / f"{picture.stem}_exp.npy"
        try:
            # A digit, as text or as a number; no pickles, because these are downloads.
            label = int(np.load(annotation, allow_pickle=False).item())
        except (OSError, ValueError) as error:
            raise RankotomError(
                f"The label of {picture} cannot be read from {annotation}: {error}."
            ) from error
        if 0 <= label < len(AFFECTNET_LABELS):
            files.append(picture)
            labels.append(EMOTIONS.index(AFFECTNET_LABELS[label]))
    name = "train" if split == "train" else "valid"
    return len(files), _labelled_set(f"affectnet/{name}", files, EMOTIONS, labels)


def _read_lfw(root: Path, split: Split) -> tuple[int, FaceSet]:
    files = _pictures(root, "*/*_[0-9][0-9][0-9][0-9].jpg", f"LFW {split}")
    return len(files), FaceSet(name="lfw/train", files=tuple(files), classes=())


def _labelled_set(
    name: str, files: Sequence[Path], classes: tuple[str, ...], labels: Sequence[int]
) -> FaceSet:
    return FaceSet(name, tuple(files), classes, np.array(labels, dtype=np.int64))


def _pictures(folder: Path, pattern: str, what: str) -> list[Path]:
    pictures = sorted(folder.glob(pattern))
    if not pictures:
        raise RankotomError(
            f"{what} should be in {folder}, but there is no {pattern}. "
            "Unpack that split, or choose another."
        )
    return pictures


_LAYOUTS = {
    "ferplus": _Layout("FERPlus", ("FERPlus",), "fer2013new.csv", _read_ferplus),
    "rafdb": _Layout(
        "RAF-DB",
        ("RAF-DB", "RAFDB", "rafdb"),
        "basic/EmoLabel",
        partial(_read_rafdb, "basic", RAFDB_LABELS, EMOTIONS[:7]),
    ),
    "rafdb-compound": _Layout(
        "RAF-DB compound",
        ("RAF-DB", "RAFDB", "rafdb"),
        "compound/EmoLabel",
        partial(_read_rafdb, "compound", RAFDB_COMPOUND_LABELS, RAFDB_COMPOUND_LABELS),
    ),
    "affectnet": _Layout("AffectNet", ("AffectNet", "affectnet"), "*_set", _read_affectnet),
    "lfw": _Layout("LFW", ("lfw-deepfunneled", "lfw"), "*/*_0001.jpg", _read_lfw),
}
