"""What is measured is what the loop does: real frames, a real detector, real models."""

from __future__ import annotations

import time
from pathlib import Path

import cv2
import pytest

from rankotom_edge.bench.loop_cost import (
    BATCHES,
    STAGES,
    WARM_UP,
    Comparison,
    FrameCost,
    LoopCost,
    UntilLate,
    clip,
    compare_models,
    measure_loop,
)
from rankotom_edge.model import embedded as models
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.sources import open_source

FRAMES = 40


def frame(detect: float | None, loop: float) -> FrameCost:
    return FrameCost(
        detect, follow=1.0, crop=0.5, classify=2.0, capture_to_reading=5.0, loop=loop, faces=1
    )


@pytest.fixture(scope="module")
def measured() -> LoopCost:
    classifier = Classifier(load_artifact(models.DEFAULT))
    with clip(FRAMES + WARM_UP) as path, open_source(str(path)) as source:
        cost = measure_loop(source, classifier, FRAMES)
    assert cost is not None
    return cost


def test_the_warm_up_does_not_count_and_every_other_frame_does(measured: LoopCost) -> None:
    assert len(measured.frames) == FRAMES
    assert all(frame.faces == 1 for frame in measured.frames)


def test_the_stages_fit_into_the_whole(measured: LoopCost) -> None:
    for cost in measured.frames:
        stages = (cost.detect or 0) + cost.follow + cost.crop + cost.classify
        assert 0 < stages <= cost.loop
        # Capture to reading also has the hop from the source's thread, which the loop waits for.
        assert min(cost.follow, cost.crop, cost.classify) > 0
        assert cost.capture_to_reading >= stages - 1
    assert 0 < len(measured.times("detect")) < FRAMES
    assert measured.ratio > 1
    assert measured.cpu > 0


def test_percentiles_and_throughput_are_those_of_the_frames() -> None:
    cost = LoopCost((frame(3.0, 10.0), frame(None, 20.0), frame(5.0, 30.0)), cpu=30.0)
    assert cost.percentile("detect", 50) == 4.0
    assert cost.percentile("loop", 100) == 30.0
    assert cost.fps == pytest.approx(50.0)
    assert cost.ratio == pytest.approx(60 / (3 + 5 + 3 * 2))
    written = cost.as_json()
    assert written["throughput"] == 50.0
    assert written["cpu_ms"] == 10.0
    stages = written["stages"]
    assert isinstance(stages, dict)
    assert tuple(stages) == STAGES
    assert stages["detect"] == {"count": 2, "p50_ms": 4.0, "p95_ms": 4.9, "p99_ms": 4.98}


def test_a_stage_that_never_ran_has_no_time() -> None:
    cost = LoopCost((frame(None, 10.0),), cpu=1.0)
    assert cost.percentile("detect", 50) is None
    stages = cost.as_json()["stages"]
    assert isinstance(stages, dict)
    assert stages["detect"]["p99_ms"] is None


def test_a_source_shorter_than_the_warm_up_gives_no_cost() -> None:
    with clip(WARM_UP) as path, open_source(str(path)) as source:
        assert measure_loop(source, Classifier(load_artifact(models.DEFAULT)), 10) is None


def test_an_endless_source_ends_when_its_time_is_up() -> None:
    classifier = Classifier(load_artifact(models.DEFAULT))
    started = time.monotonic()
    with open_source("demo") as source:
        measure_loop(source, classifier, frames=1_000_000, longest=0.5)
    assert time.monotonic() - started < 30
    assert UntilLate(-1).closed


def test_the_clip_is_a_video_of_the_demo_and_goes_when_it_was_used() -> None:
    with clip(5) as path:
        video = cv2.VideoCapture(str(path))
        assert video.get(cv2.CAP_PROP_FRAME_COUNT) == 5
        assert video.read()[1].shape == (480, 640, 3)
        video.release()
    assert not Path(path).exists()


def test_both_models_are_timed_for_each_batch_and_thread_count() -> None:
    fp32, int8 = load_artifact(models.FP32), load_artifact(models.INT8)
    beside = compare_models(int8, fp32, threads=(1, 2), rounds=5)
    assert [(each.faces, each.threads) for each in beside] == [
        (faces, threads) for threads in (1, 2) for faces in BATCHES
    ]
    one, four = beside[0], beside[1]
    # Four faces take longer than one, and less than ten times as long.
    assert one.model < four.model < 10 * one.model
    assert one.against < four.against


def test_a_speedup_above_one_is_faster() -> None:
    assert Comparison(1, 1, model=2.0, against=5.0).as_json() == {
        "faces": 1, "threads": 1, "model_ms": 2.0, "against_ms": 5.0, "speedup": 2.5,
    }  # fmt: skip
