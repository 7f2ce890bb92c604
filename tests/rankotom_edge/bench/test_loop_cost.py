"""What is measured is what the loop does: real frames, a real detector, real models."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import cv2
import pytest

from rankotom_edge.bench.loop_cost import (
    STAGES,
    WARM_UP,
    FrameCost,
    LoopCost,
    TimeLimitView,
    demo_clip,
    measure_loop,
)
from rankotom_edge.live.build import open_classifier, open_reader
from rankotom_edge.live.reader import Reader
from rankotom_edge.model import embedded
from rankotom_edge.sources import open_source

FRAMES = 40


def frame(detect: float | None, loop: float) -> FrameCost:
    return FrameCost(
        detect, follow=1.0, crop=0.5, classify=2.0, capture_to_reading=5.0, loop=loop, faces=1
    )


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with (
        open_classifier(embedded.DEFAULT, "cpu") as (classifier, _),
        open_reader(classifier) as reader,
    ):
        yield reader


@pytest.fixture(scope="module")
def measured(reader: Reader) -> LoopCost:
    with demo_clip(FRAMES + WARM_UP) as path, open_source(str(path)) as source:
        cost = measure_loop(source, reader, FRAMES)
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


def test_a_source_shorter_than_the_warm_up_gives_no_cost(reader: Reader) -> None:
    with demo_clip(WARM_UP) as path, open_source(str(path)) as source:
        assert measure_loop(source, reader, 10) is None


def test_an_endless_source_ends_when_its_time_is_up(reader: Reader) -> None:
    started = time.monotonic()
    with open_source("demo") as source:
        measure_loop(source, reader, frames=1_000_000, max_seconds=0.5)
    assert time.monotonic() - started < 30
    assert TimeLimitView(-1).closed


def test_the_clip_is_a_video_of_the_demo_and_is_deleted_after_use() -> None:
    with demo_clip(5) as path:
        video = cv2.VideoCapture(str(path))
        assert video.get(cv2.CAP_PROP_FRAME_COUNT) == 5
        assert video.read()[1].shape == (480, 640, 3)
        video.release()
    assert not Path(path).exists()
