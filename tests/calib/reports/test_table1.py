"""The mean, the seeds and the intervals of each row, beside the paper's figures."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from calib.evaluation import Estimate
from calib.intervals import Interval
from calib.reports.table1 import RAW, SCALED, RunResult, Table1, cell, markdown, report, write
from calib.resampling import Floor

SETTING = {
    "dataset": "ferplus",
    "start": "random",
    "network": "edge-narrow",
    "faces": 4760,
    "epochs": 4,
    "steps": 74,
    "batch": 64,
    "measured": 1789,
}


def result_of(row: str, seed: int, accuracy: float) -> RunResult:
    raw = {name: Estimate(0.25, Interval(0.2, 0.3)) for name in RAW}
    raw["ece"] = Estimate(0.25, Interval(0.2, 0.3), Floor(0.018, 0.026))
    raw["accuracy"] = Estimate(accuracy, Interval(accuracy - 0.02, accuracy + 0.02))
    scaled = {**raw, **{name: Estimate(0.1) for name in SCALED}, "order": Estimate(0.75)}
    return RunResult(row, seed, raw, scaled)


@pytest.fixture
def table() -> Table1:
    results = (
        result_of("cross-entropy", 0, 0.70),
        result_of("SCN", 0, 0.60),
        result_of("cross-entropy", 1, 0.74),
        result_of("SCN", 1, 0.62),
    )
    return Table1(SETTING, results, {"cross-entropy": 0.5, "SCN": 0.55})


def test_a_cell_has_the_mean_the_seeds_and_the_widest_interval() -> None:
    estimates = [Estimate(0.70, Interval(0.68, 0.72)), Estimate(0.74, Interval(0.71, 0.76))]
    assert cell(estimates, "accuracy", " · ") == "72.0 · 70.0 to 74.0 · [68.0, 76.0]"
    assert cell(estimates[:1], "nll", " · ") == "0.700 · [0.680, 0.720]"
    assert cell([Estimate(1.234)], "temperature", " · ") == "1.23"
    assert cell(estimates, "accuracy", None) == "72.0"
    assert cell([Estimate(None)], "mce50", " · ") == "–"


def test_the_papers_figures_stand_beside_the_methods_that_it_has(table: Table1) -> None:
    lines = markdown(table).splitlines()
    scn = next(line for line in lines if line.startswith("| SCN |"))
    plain = next(line for line in lines if line.startswith("| cross-entropy |"))
    assert scn.endswith("| 79.32 / 15.79 / 34.94 / 15.84 |")
    assert plain.endswith("|  |")
    assert "compare the order of the rows" in lines[-1]


def test_the_cost_of_a_step_is_told_beside_the_first_row(table: Table1) -> None:
    lines = markdown(table).splitlines()
    costs = [line for line in lines if line.startswith("| SCN |")][2]
    assert costs.endswith("| 0.55 | 1.1 |")


def test_the_terminal_shows_all_three_parts(table: Table1) -> None:
    console = Console(width=200, file=StringIO())
    with console.capture() as captured:
        console.print(report(table))
    shown = captured.get()
    for words in ("As trained", "At the temperature", "Blends and cost", "72.0", "70.0 to 74.0"):
        assert words in shown
    paper = shown[shown.index("In the paper") :].splitlines()
    assert paper[2].split() == ["SCN", "79.32", "15.79", "34.94", "15.84"]
    assert paper[3].startswith("The paper's figures are of other pictures")


def test_a_narrow_terminal_has_the_means_alone(table: Table1) -> None:
    console = Console(width=80, file=StringIO())
    with console.capture() as captured:
        console.print(report(table))
    shown = captured.get()
    assert "72.0" in shown
    assert "70.0 to 74.0" not in shown
    for head in ("accuracy", "recall", "ECE", "AECE", "NLL", "Brier"):
        assert head in shown  # none is cut off


def test_what_is_written_reads_back_as_the_same_table(table: Table1, tmp_path: Path) -> None:
    write(table, tmp_path / "table.json", tmp_path / "plot.png")
    assert Table1.read(tmp_path / "table.json") == table
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
