from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calib.blends import compound_heatmap
from calib.evaluation import evaluate
from calib.guarantees import Threshold
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


def test_a_file_name_that_is_no_text_is_drawn_escaped(read: Predictions, tmp_path: Path) -> None:
    evaluation = replace(evaluate(read, resamples=20), model={"file": "\udcff.npz"})
    plot_evaluation(evaluation, tmp_path / "evaluation.png")


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


@pytest.mark.parametrize("far_left", [True, False])
def test_the_labels_of_the_error_budgets_do_not_overlap(read: Predictions, far_left: bool) -> None:
    counts = (400, 420, 440, 10_000) if far_left else (400, 4_000, 7_000, 10_000)
    wrong = (0, 5, 13, 6_000) if far_left else (0, 60, 290, 900)
    thresholds = tuple(
        Threshold(confidence, count, errors)
        for confidence, count, errors in zip((0.99, 0.97, 0.95, 0.2), counts, wrong, strict=True)
    )
    evaluation = replace(evaluate(read, resamples=100), n=10_000, thresholds=thresholds)
    figure = Figure((11.5, 3))
    axes = figure.add_subplot()
    evaluation_plot._draw_risk(axes, evaluation)
    figure.canvas.draw()
    labels = [text.get_window_extent() for text in axes.texts]
    assert len(labels) >= 2
    for index, label in enumerate(labels):
        assert axes.get_window_extent().containsx(label.x0)
        assert axes.get_window_extent().containsx(label.x1)
        assert not any(label.overlaps(other) for other in labels[:index])
