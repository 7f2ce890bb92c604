"""Pictures are real image files, whole or not there at all."""

import struct
import subprocess
import sys
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest

from calib.blends import compound_heatmap
from calib.drift import Limits, judge, measure_drift
from calib.errors import RankotomError
from calib.evaluation import evaluate
from calib.plot import plot_drift, plot_evaluation
from calib.predictions import Predictions


@pytest.fixture(scope="module")
def read() -> Predictions:
    random = np.random.default_rng(1)
    shares = random.dirichlet(np.full(8, 0.4), 300)
    return Predictions(
        shares, random.integers(0, 8, 300), votes=random.multinomial(10, shares).astype(float)
    )


def pixels(path: Path) -> tuple[int, int, int]:
    """Width, height and how many bytes the picture unpacks to, read without an image library."""
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    packed, position = b"", 8
    while position < len(data):
        (length,) = struct.unpack(">I", data[position : position + 4])
        if data[position + 4 : position + 8] == b"IDAT":
            packed += data[position + 8 : position + 8 + length]
        position += length + 12
    return width, height, len(set(zlib.decompress(packed)))


def test_an_evaluation_becomes_a_png_with_something_on_it(
    read: Predictions, tmp_path: Path
) -> None:
    path = tmp_path / "evaluation.png"
    plot_evaluation(evaluate(read, resamples=20), path)
    width, height, values = pixels(path)
    assert width > 1000
    assert height > 500
    assert values > 50


def test_the_blends_make_the_picture_taller(read: Predictions, tmp_path: Path) -> None:
    evaluation = evaluate(read, resamples=20)
    assert read.votes is not None
    heatmap = compound_heatmap(read.probabilities, read.votes, read.classes)
    plot_evaluation(evaluation, tmp_path / "without.png")
    plot_evaluation(evaluation, tmp_path / "with.png", heatmap)
    assert pixels(tmp_path / "with.png")[1] > pixels(tmp_path / "without.png")[1]


def test_a_drift_becomes_a_png(read: Predictions, tmp_path: Path) -> None:
    blurred = Predictions(0.8 * read.probabilities + 0.025, read.labels, votes=read.votes)
    drift = measure_drift(read, blurred, resamples=20)
    limits = Limits(ece=0.0)
    plot_drift(drift, judge(drift, limits), limits, tmp_path / "drift.png")
    assert pixels(tmp_path / "drift.png")[2] > 50


def test_other_formats_go_by_the_name(read: Predictions, tmp_path: Path) -> None:
    path = tmp_path / "evaluation.svg"
    plot_evaluation(evaluate(read, resamples=20), path)
    assert "<svg" in path.read_text()


def test_an_unknown_format_is_refused_by_name(read: Predictions, tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match=r"\.png"):
        plot_evaluation(evaluate(read, resamples=20), tmp_path / "evaluation.docx")


def test_nothing_is_left_behind_where_a_picture_can_not_be_written(
    read: Predictions, tmp_path: Path
) -> None:
    taken = tmp_path / "taken.png"
    (taken / "inside").mkdir(parents=True)
    with pytest.raises(RankotomError, match=r"cannot write .*taken\.png"):
        plot_evaluation(evaluate(read, resamples=20), taken)
    assert [path.name for path in tmp_path.iterdir()] == ["taken.png"]


def test_matplotlib_is_loaded_only_to_draw() -> None:
    script = "import sys, calib.plot, calib.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_letters_that_the_font_lacks_cause_no_warning(read: Predictions, tmp_path: Path) -> None:
    names = ("中立", "喜び", "驚き", "悲しみ", "怒り", "嫌悪", "恐れ", "軽蔑")
    foreign = Predictions(read.probabilities, read.labels, names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot_evaluation(evaluate(foreign, resamples=20), tmp_path / "names.png")
