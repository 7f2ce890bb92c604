"""``rankotom-edge bench``: report, JSON, plot and errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from calib.errors import RankotomError
from rankotom_edge.cli.app import app
from rankotom_edge.cli.bench import counterpart
from rankotom_edge.model import embedded

WIDE = {"COLUMNS": "120", "NO_COLOR": "1"}


def run(*arguments: str) -> str:
    finished = CliRunner(env=WIDE).invoke(app, ["bench", *arguments], catch_exceptions=False)
    assert finished.exit_code == 0, finished.output
    return finished.stdout


def number_in(page: str, pattern: str) -> float:
    """A number of the page, which has fewer digits than the JSON."""
    found = re.search(pattern, page)
    assert found is not None, page
    return float(found[1])


def test_report_json_and_plot_agree(tmp_path: Path) -> None:
    target, plot = tmp_path / "bench.json", tmp_path / "bench.png"
    page = run("--frames", "60", "--json", str(target), "--plot", str(plot))
    written = json.loads(target.read_text())
    assert written["model"]["name"] == embedded.DEFAULT
    assert written["source"] == "demo clip, 640 x 480"
    assert written["frames"] == written["faces"] == 60
    for stage in ("detect", "follow", "crop", "classify", "capture_to_reading", "loop"):
        times = written["stages"][stage]
        assert 0 < times["p50_ms"] <= times["p95_ms"] <= times["p99_ms"]
    assert written["throughput"] > 0
    assert {each["faces"] for each in written["comparison"]} == {1, 4}
    first = written["comparison"][0]
    assert first["speedup"] == pytest.approx(first["against_ms"] / first["model_ms"], abs=0.01)
    assert number_in(page, r"(\d+) frames a second") == pytest.approx(
        written["throughput"], abs=0.51
    )
    assert number_in(page, r"classify\D+([\d.]+)") == pytest.approx(
        written["stages"]["classify"]["p50_ms"], abs=0.006
    )
    picture = cv2.imread(str(plot))
    assert picture.shape[1] > 1000
    assert picture.std() > 10


def test_a_source_without_faces_is_noted(tmp_path: Path) -> None:
    writer = cv2.VideoWriter(
        str(tmp_path / "wall.avi"), cv2.VideoWriter.fourcc(*"MJPG"), 30, (320, 240)
    )
    for _ in range(50):
        writer.write(np.full((240, 320, 3), 128, np.uint8))
    writer.release()
    page = run("--source", str(tmp_path / "wall.avi"), "--against", embedded.DEFAULT)
    assert "no face was found in wall.avi" in page
    assert "20" in page.split("whole loop")[1].splitlines()[0].split()[-1]


def test_a_source_that_is_too_short_is_an_error() -> None:
    portrait = Path(__file__).parents[3] / "rankotom_edge" / "sources" / "eileen-collins.jpg"
    with pytest.raises(RankotomError, match="too few frames: the warm-up alone takes 30"):
        run("--source", str(portrait))


def test_a_wrong_picture_name_is_an_error_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(RankotomError, match="ends in"):
        run("--plot", str(tmp_path / "bench.doc"), "--model", "no-such-model")


def test_each_precision_has_its_counterpart() -> None:
    assert counterpart("int8") == counterpart("fp16") == embedded.FP32
    assert counterpart("fp32") == embedded.INT8
