from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calib.blends import compound_heatmap
from calib.evaluation import evaluate
from calib.predictions import Predictions
from calib.reports import evaluation_plot
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


@pytest.mark.parametrize("blur", [0.0, 1.0], ids=["as read", "very unsure"])
def test_the_values_of_the_calibration_errors_stand_beside_their_bars(
    read: Predictions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blur: float
) -> None:
    drawn: list[Axes] = []
    draw = evaluation_plot._draw_errors
    monkeypatch.setattr(
        evaluation_plot, "_draw_errors", lambda axes, each: (drawn.append(axes), draw(axes, each))
    )
    shares = (1 - blur) * read.probabilities + blur * np.eye(8)[read.labels] * 0.2 + blur * 0.1
    evaluation = evaluate(Predictions(shares, read.labels), resamples=20)
    plot_evaluation(evaluation, tmp_path / "evaluation.png")
    (axes,) = drawn
    assert isinstance(axes.figure, Figure)
    words = [label.get_text() for label in axes.get_yticklabels()]
    value = evaluation.metrics["ece"].value
    assert value is not None
    assert words[0] == f"ECE  {100 * value:.1f} %"
    assert all(label.get_window_extent().x1 <= axes.bbox.x0 for label in axes.get_yticklabels())
    assert not axes.texts
