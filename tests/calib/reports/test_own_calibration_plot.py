from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from matplotlib.figure import Figure

from calib.label_trial import LabelTrial
from calib.own_calibration import OwnCalibration
from calib.reports.own_calibration_plot import plot_own_calibration
from calib.try_calibration import try_calibration

Pixels: TypeAlias = Callable[[Path], tuple[int, int, int]]


@pytest.fixture(scope="module")
def trial() -> LabelTrial:
    random = np.random.default_rng(0)
    logits = random.normal(0, 3, (60, 8))
    votes = np.stack([random.multinomial(2, row) for row in OwnCalibration().apply(logits)])
    return try_calibration(logits, votes, np.arange(60), resamples=20)


def test_the_picture_is_drawn(trial: LabelTrial, tmp_path: Path, pixels: Pixels) -> None:
    plot_own_calibration(trial, "ferplus-int8", tmp_path / "own.png")
    width, height, different = pixels(tmp_path / "own.png")
    assert width > 1500
    assert height > 1200
    assert different > 50


def test_words_intervals_and_both_diagrams_are_in_it(
    trial: LabelTrial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Figure] = []
    save = Figure.savefig
    monkeypatch.setattr(
        Figure,
        "savefig",
        lambda figure, *given, **named: (kept.append(figure), save(figure, *given, **named)),
    )
    plot_own_calibration(trial, "ferplus-int8", tmp_path / "own.svg")
    (figure,) = kept
    words = " ".join(each.get_text() for each in figure.texts)
    assert "ferplus-int8: your faces" in words
    assert "chosen spread over the range of confidence" in " ".join(words.split())
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert any(title.startswith("Before: ECE") for title in titles)
    assert any(title.startswith("After: ECE") for title in titles)
    filled = sum(bin_.count > 0 for bin_ in trial.before.bins)
    (before,) = (axes for axes in figure.axes if axes.get_title(loc="left").startswith("Before"))
    vertical = [line for line in before.lines if len(set(line.get_xdata())) == 1]
    assert len(vertical) == filled
