import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "labelled_folder.py"


def evaluate(desk: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(EXAMPLE), "labelled", "predictions.npz"],
        cwd=desk,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def labelled(desk: Path) -> Path:
    for label, count in (("happiness", 3), ("sadness", 1)):
        folder = desk / "labelled" / label
        folder.mkdir(parents=True)
        for number in range(count):
            shutil.copy(desk / "photo.jpg", folder / f"{number}.jpg")
    (desk / "labelled" / "happiness" / "notes.txt").write_text("no picture")
    return desk


def test_the_largest_face_of_each_picture_is_evaluated(labelled: Path) -> None:
    done = evaluate(labelled)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("4 faces; 1 files without a face, or no picture")
    assert "75.0 %" in done.stdout
    assert np.load(labelled / "predictions.npz")["labels"].tolist() == [1, 1, 1, 3]


def test_a_folder_without_a_face_says_so(desk: Path) -> None:
    done = evaluate(desk)
    assert done.returncode == 2
    assert "There is no face in labelled/{neutral,happiness" in done.stderr
