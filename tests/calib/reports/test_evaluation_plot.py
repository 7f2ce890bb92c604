from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from calib.blends import compound_heatmap
from calib.evaluation import evaluate
from calib.predictions import Predictions
from calib.reports.evaluation_plot import plot_evaluation

Pixels: TypeAlias = Callable[[Path], tuple[int, int, int]]


def test_an_evaluation_becomes_a_png_with_something_on_it(
    read: Predictions, tmp_path: Path, pixels: Pixels
) -> None:
    path = tmp_path / "evaluation.png"
    plot_evaluation(evaluate(read, resamples=20), path)
    width, height, values = pixels(path)
    assert width > 1000
    assert height > 500
    assert values > 50


def test_the_blends_make_the_plot_taller(read: Predictions, tmp_path: Path, pixels: Pixels) -> None:
    evaluation = evaluate(read, resamples=20)
    assert read.votes is not None
    heatmap = compound_heatmap(read.probabilities, read.votes, read.classes)
    plot_evaluation(evaluation, tmp_path / "without.png")
    plot_evaluation(evaluation, tmp_path / "with.png", heatmap)
    assert pixels(tmp_path / "with.png")[1] > pixels(tmp_path / "without.png")[1]
