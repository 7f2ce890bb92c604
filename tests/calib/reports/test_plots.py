"""Plots are real image files, whole or not there at all."""

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from calib.errors import RankotomError
from calib.evaluation import evaluate
from calib.predictions import Predictions
from calib.reports.evaluation_plot import plot_evaluation
from calib.reports.plots import wrap_words


def test_other_formats_go_by_the_name(read: Predictions, tmp_path: Path) -> None:
    path = tmp_path / "evaluation.svg"
    plot_evaluation(evaluate(read, resamples=20), path)
    assert "<svg" in path.read_text()


def test_an_unknown_format_is_refused_by_name(read: Predictions, tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match=r"\.png"):
        plot_evaluation(evaluate(read, resamples=20), tmp_path / "evaluation.docx")


def test_nothing_is_left_behind_where_a_plot_cannot_be_written(
    read: Predictions, tmp_path: Path
) -> None:
    taken = tmp_path / "taken.png"
    (taken / "inside").mkdir(parents=True)
    with pytest.raises(RankotomError, match=r"cannot write .*taken\.png"):
        plot_evaluation(evaluate(read, resamples=20), taken)
    assert [path.name for path in tmp_path.iterdir()] == ["taken.png"]


def test_matplotlib_is_loaded_only_to_draw() -> None:
    script = (
        "import sys, calib.reports.terminal\n"
        "import calib.reports.drift_plot, calib.reports.evaluation_plot\n"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_letters_that_the_font_lacks_cause_no_warning(read: Predictions, tmp_path: Path) -> None:
    names = ("中立", "喜び", "驚き", "悲しみ", "怒り", "嫌悪", "恐れ", "軽蔑")
    foreign = Predictions(read.probabilities, read.labels, names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot_evaluation(evaluate(foreign, resamples=20), tmp_path / "names.png")


def test_a_name_is_never_broken_at_its_hyphen() -> None:
    assert wrap_words("the model ferplus-int8-s8s8", 20) == ["the model", "ferplus-int8-s8s8"]
