"""A few of what ``make fuzz`` sends; and that it finds faults where there are some."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.mutations import damage, damage_json
from tests.fuzz.processes import Ended

ROOT = Path(__file__).parents[2]
FEW, SEED = 150, 18  # make fuzz has another seed each time


def test_damaged_inputs_of_every_kind_are_accepted_or_refused_in_one_clear_line() -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--cases", str(FEW), "--seed", str(SEED)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("status", "output", "fault"),
    [
        (0, b"", None),
        (1, b"The answer is no.", None),
        (2, b"error: There is no such file.", None),
        (2, b"", "status 2 without an error"),
        (2, b"error: " + b"x" * 5000, "an error of 5,007 characters"),
        (0, b"Exception in thread\nTraceback (most recent call last):", "traceback"),
        (70, b"error: this is a bug", "traceback"),
        (3, b"", "status 3"),
        (-6, b"", "ended by SIGABRT"),
        (-9, b"", "hang: 1 s"),
        (0, b"happiness \x1b[31m", r"prints the control character b'\x1b'"),
    ],
)
def test_what_should_never_happen_is_a_fault(status: int, output: bytes, fault: str | None) -> None:
    assert Ended(status, seconds=1.0, memory=0, output=output).fault() == fault


def test_too_much_memory_is_a_fault_also_where_it_is_refused() -> None:
    assert Ended(0, 1.0, 3 * 1024**3, b"").fault() == "memory: 3,072 MB"
    words = b"error: This needs more memory than there is."
    assert Ended(2, 1.0, 1024**2, words).fault() == "memory: 1 MB"


def test_the_same_seed_makes_the_same_input() -> None:
    document = {"format": 1, "faces": [{"box": [1, 2, 3, 4]}]}
    made = [
        (damage(bytes(100), Random(seed)), damage_json(document, Random(seed)))
        for seed in (1, 1, 2)
    ]
    assert made[0] == made[1] != made[2]
