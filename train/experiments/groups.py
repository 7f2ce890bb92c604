"""Differences between groups of people: faces found, sure and stable, by group, sex and age.

    python -m train.experiments.groups --model ferplus-int8

On UTKFace, which has no expression labels. So this shows whether the program finds some people's
faces less often, is less sure of them or less stable, not whether it is less often right. The
people of two groups may also smile more or less often in the pictures that were collected.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import typer
from rich.console import Console
from rich.progress import track

from calib.errors import exit_on_error
from calib.intervals import Z, share_interval
from rankotom_edge.frame import Frame, Image
from rankotom_edge.live.build import open_classifier, open_reader
from rankotom_edge.live.reader import Reader
from rankotom_edge.readings.reading import Reading
from train.data.crops import read_picture
from train.data.datasets import data_folder
from train.data.utkface import Person, load_utkface

# A jitter that a person would not notice: degrees, share of the size and of the width, of the light
ROTATION, SCALE, SHIFT, LIGHT = 5.0, 0.05, 0.03, 0.15


@dataclass(frozen=True)
class Photograph:
    """What is read from one person's photograph."""

    person: Person
    reading: Reading | None  # of the largest face; None where no face is found
    same_mirrored: bool | None  # the mirror image shows the same expression; None: no face there
    same_jittered: bool | None


def mirror(picture: Image) -> Image:
    return np.ascontiguousarray(picture[:, ::-1])


def jitter(picture: Image, random: np.random.Generator) -> Image:
    """Turned, scaled, moved and lit slightly differently."""
    height, width = picture.shape[:2]
    turn = cv2.getRotationMatrix2D(
        (width / 2, height / 2),
        random.uniform(-ROTATION, ROTATION),
        random.uniform(1 - SCALE, 1 + SCALE),
    )
    turn[:, 2] += random.uniform(-SHIFT, SHIFT, 2) * width
    moved = cv2.warpAffine(picture, turn, (width, height), borderMode=cv2.BORDER_REPLICATE)
    lit = random.uniform(1 - LIGHT, 1 + LIGHT) * moved.astype(np.float32)
    return np.asarray(np.clip(lit, 0, 255), dtype=np.uint8)


def read_largest(reader: Reader, picture: Image) -> Reading | None:
    readings = reader.read(Frame(picture, index=0, time=0.0, captured=0.0)).readings
    return max(readings, key=lambda reading: reading.face.box[2], default=None)


def read_photograph(reader: Reader, person: Person, random: np.random.Generator) -> Photograph:
    picture = read_picture(person.file)
    reading = read_largest(reader, picture)

    def same(changed: Image) -> bool | None:
        again = None if reading is None else read_largest(reader, changed)
        return None if again is None or reading is None else again.top == reading.top

    return Photograph(person, reading, same(mirror(picture)), same(jitter(picture, random)))


GROUPINGS: dict[str, Callable[[Person], str]] = {
    "group": lambda person: person.group,
    "sex": lambda person: person.sex,
    "age": lambda person: person.age_band,
}


def share_text(flags: Sequence[bool]) -> str:
    """A share in per cent with its 95 % interval."""
    if not flags:
        return "–"
    interval = share_interval(sum(flags), len(flags))
    return f"{100 * np.mean(flags):.1f} ({100 * interval.low:.0f} to {100 * interval.high:.0f})"


def mean_text(values: Sequence[float]) -> str:
    """A mean in per cent with its 95 % interval."""
    if len(values) < 2:
        return "–"
    reach = Z * np.std(values, ddof=1) / len(values) ** 0.5
    middle = np.mean(values)
    return f"{100 * middle:.1f} ({100 * (middle - reach):.0f} to {100 * (middle + reach):.0f})"


def summary_table(photographs: Sequence[Photograph]) -> str:
    columns = (
        "photographs",
        "found",
        "sure",
        "mean confidence",
        "same when mirrored",
        "same when jittered",
    )
    rows = []
    for name, members in group_photographs(photographs):
        readings = [one.reading for one in members if one.reading is not None]
        rows.append(
            (
                name,
                f"{len(members):,}",
                share_text([one.reading is not None for one in members]),
                share_text([reading.verdict == "sure" for reading in readings]),
                mean_text([reading.confidence for reading in readings]),
                share_text([one.same_mirrored for one in members if one.same_mirrored is not None]),
                share_text([one.same_jittered for one in members if one.same_jittered is not None]),
            )
        )
    return markdown(columns, rows)


def kind_table(photographs: Sequence[Photograph], kind: Callable[[Reading], str | None]) -> str:
    """The share of each kind of reading among the faces found, commonest kind first."""
    found = [one.reading for one in photographs if one.reading is not None]
    kinds = [name for name, _ in Counter(filter(None, map(kind, found))).most_common()]
    rows = []
    for name, members in group_photographs(photographs):
        read = [one.reading for one in members if one.reading is not None]
        rows.append((name, *(share_text([kind(one) == each for one in read]) for each in kinds)))
    return markdown(kinds, rows)


def unsure_reason(reading: Reading) -> str | None:
    if reading.verdict == "sure":
        return None
    return reading.poor or "not confident enough"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column has no heading."""
    lines = [("", *columns), ("---",) * (len(columns) + 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def group_photographs(photographs: Sequence[Photograph]) -> list[tuple[str, list[Photograph]]]:
    groups: list[tuple[str, list[Photograph]]] = [("all", list(photographs))]
    for group_of in GROUPINGS.values():
        for name in sorted({group_of(one.person) for one in photographs}):
            members = [one for one in photographs if group_of(one.person) == name]
            groups.append((name, members))
    return groups


def main(
    model: Annotated[str, typer.Option(help="An embedded name or an .onnx file.")] = "ferplus-int8",
    data: Annotated[Path | None, typer.Option(help="Folder with the data sets.")] = None,
    every: Annotated[int, typer.Option(min=1, help="Use only every n-th photograph.")] = 1,
) -> None:
    """Print what is found and read of UTKFace's people, by group, sex and age."""
    people = load_utkface(data_folder(data))[::every]
    random = np.random.default_rng(0)
    with (
        open_classifier(model) as (classifier, _),
        open_reader(classifier, stills=True) as reader,
    ):
        shown = track(people, "reading", console=Console(stderr=True), transient=True)
        photographs = [read_photograph(reader, person, random) for person in shown]
    print(f"{model} on {len(people):,} photographs of UTKFace: per cent, 95 % intervals\n")
    print(summary_table(photographs))
    print("\nExpression, of the faces found\n")
    print(kind_table(photographs, lambda reading: reading.top))
    print("\nReason for being unsure, of the faces found\n")
    print(kind_table(photographs, unsure_reason))


if __name__ == "__main__":
    with exit_on_error():
        typer.run(main)
