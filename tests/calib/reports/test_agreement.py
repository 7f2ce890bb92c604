import io

import numpy as np
import pytest
from rich.console import Console

from calib.agreement import Agreement, measure_agreement
from calib.reports.agreement import MOST_FLIPS, agreement_report

CLASSES = ("calm", "glad", "sad")
BEFORE = np.array([[0.8, 0.1, 0.1], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8], [0.5, 0.4, 0.1]])
AFTER = np.array([[0.9, 0.05, 0.05], [0.6, 0.2, 0.2], [0.1, 0.1, 0.8], [0.4, 0.5, 0.1]])


def shown(agreement: Agreement, width: int = 80) -> str:
    text = io.StringIO()
    console = Console(file=text, width=width, color_system=None)
    console.print(agreement_report(agreement, "old", "new"))
    return text.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_report_says_first_what_was_not_checked(width: int) -> None:
    text = shown(measure_agreement(BEFORE, AFTER, CLASSES), width)
    lines = [line for line in text.splitlines() if line.strip()]
    assert "old  →  new" in lines[0]
    assert lines[1].strip() == "No labels: accuracy and ECE not checked."
    assert "50.0 %" in text
    assert "+2.5" in text
    assert all(len(line) <= width for line in lines)


def test_without_flips_there_is_no_table_of_them() -> None:
    assert "What became what" in shown(measure_agreement(BEFORE, AFTER, CLASSES))
    assert "What became what" not in shown(measure_agreement(BEFORE, BEFORE, CLASSES))


def test_rare_flips_are_counted_in_one_row() -> None:
    """Each of 10 classes becomes the next: 10 kinds of flip, of which 8 have their own row."""
    before = np.eye(10)
    after = np.roll(before, 1, axis=1)
    text = shown(measure_agreement(before, after, [f"class-{index}" for index in range(10)]))
    table = text[text.index("What became what") :].splitlines()[2:]
    rows = [line.split() for line in table if line.strip()]
    assert len(rows) == MOST_FLIPS + 1
    assert rows[-1] == ["others", "2"]
