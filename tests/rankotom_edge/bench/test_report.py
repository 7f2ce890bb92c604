from io import StringIO
from pathlib import Path

import cv2
import pytest
from rich.console import Console

from rankotom_edge.bench.loop_cost import FrameCost, LoopCost
from rankotom_edge.bench.model_comparison import Comparison
from rankotom_edge.bench.report import BenchResult, bench_report, plot_bench
from rankotom_edge.model import embedded
from rankotom_edge.model.artifact import load_artifact


@pytest.fixture(scope="module")
def result() -> BenchResult:
    frames = tuple(
        FrameCost(
            detect=None if index % 4 else 4.0,
            follow=1.0,
            crop=0.5,
            classify=2.0 + index / 10,
            capture_to_reading=6.0,
            loop=10.0,
            faces=1,
        )
        for index in range(20)
    )
    comparisons = tuple(
        Comparison(faces, threads, model=1.0 * faces, against=3.0 * faces)
        for faces in (1, 4)
        for threads in (1, 2)
    )
    model, against = load_artifact(embedded.INT8), load_artifact(embedded.FP32)
    return BenchResult("demo", "cpu", model, against, LoopCost(frames, 100.0), comparisons)


def test_the_report_has_every_stage_and_the_speedup(result: BenchResult) -> None:
    console = Console(file=StringIO(), width=100)
    with console.capture() as page:
        console.print(bench_report(result))
    text = page.get()
    assert "100 frames a second" in text
    row = next(line for line in text.splitlines() if "detect, when called" in line)
    assert row.split()[-4:] == ["4.00", "4.00", "4.00", "5"]
    assert text.count("3.00 x") == 4
    assert f"Compared with {embedded.FP32}" in text


def test_the_json_names_both_models(result: BenchResult) -> None:
    document = result.as_json()
    assert document["throughput"] == 100.0
    comparison = document["comparison"]
    assert isinstance(comparison, list)
    assert [each["speedup"] for each in comparison] == [3.0] * 4
    assert {"source", "provider", "model", "against", "stages"} <= document.keys()


def test_two_models_of_one_name_are_named_by_their_files(result: BenchResult) -> None:
    twice = BenchResult("demo", "cpu", result.model, result.model, result.cost, ())
    assert twice.names == (str(result.model.path), str(result.model.path))


def test_the_plot_is_drawn(result: BenchResult, tmp_path: Path) -> None:
    plot_bench(result, tmp_path / "bench.png")
    assert cv2.imread(str(tmp_path / "bench.png")).std() > 10
