"""UTKFace by file name: group, sex and age as its authors estimated them; no expression labels.

For measuring differences between groups, never for training: its licence is for non-commercial
research. Names are GROUP-SEX-AGE-NUMBER.jpg, as in "asian-female-17-0036.jpg".
"""

import re
from dataclasses import dataclass
from pathlib import Path

from calib.errors import RankotomError

FOLDER = "utkface-sample"
NAME = re.compile(r"(?P<group>[a-z]+)-(?P<sex>female|male)-(?P<age>\d+)-\d+\.jpg")
AGES = ((0, "0 to 12"), (13, "13 to 29"), (30, "30 to 49"), (50, "50 to 69"), (70, "70 and over"))


@dataclass(frozen=True)
class Person:
    file: Path
    group: str
    sex: str
    age: int

    @property
    def age_band(self) -> str:
        return next(name for start, name in reversed(AGES) if self.age >= start)


def load_utkface(folder: Path) -> tuple[Person, ...]:
    """``folder`` is the data set's own, or one that holds it."""
    root = folder / FOLDER if (folder / FOLDER).is_dir() else folder
    people = []
    for file in sorted(root.glob("*.jpg")):
        match = NAME.fullmatch(file.name)
        if match is not None:
            people.append(Person(file, match["group"], match["sex"], int(match["age"])))
    if not people:
        raise RankotomError(
            f"There is no UTKFace in {folder}: no picture is named like "
            "asian-female-17-0036.jpg. Unpack utkface-sample.zip there, or name its folder with "
            "--data."
        )
    return tuple(people)
