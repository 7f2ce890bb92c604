"""Real models, timed for real."""

import time
from functools import partial

import pytest

from rankotom_edge.bench import model_comparison
from rankotom_edge.bench.model_comparison import (
    BATCHES,
    Comparison,
    compare_models,
    thread_counts,
    usable_cores,
)
from rankotom_edge.model import embedded
from rankotom_edge.model.artifact import load_artifact
from rankotom_edge.model.latency import interleaved_medians


def test_both_models_are_timed_for_each_batch_and_thread_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In CPU time: by the clock, a busy machine interrupts the longer calls more often."""
    cpu_time = partial(interleaved_medians, clock=time.process_time)
    monkeypatch.setattr(model_comparison, "interleaved_medians", cpu_time)
    fp32, int8 = load_artifact(embedded.FP32), load_artifact(embedded.INT8)
    compared = compare_models(int8, fp32, threads=(1, 2), rounds=5)
    assert [(each.faces, each.threads) for each in compared] == [
        (faces, threads) for threads in (1, 2) for faces in BATCHES
    ]
    one, four = compared[0], compared[1]
    # Four faces take longer than one, and less than ten times as long.
    assert one.model < four.model < 10 * one.model
    assert one.against < four.against


def test_a_speedup_above_one_is_faster() -> None:
    assert Comparison(1, 1, model=2.0, against=5.0).as_json() == {
        "faces": 1, "threads": 1, "model_ms": 2.0, "against_ms": 5.0, "speedup": 2.5,
    }  # fmt: skip


def test_thread_counts_go_up_to_the_cores() -> None:
    assert thread_counts(1) == (1,)
    assert thread_counts(2) == (1, 2)
    assert thread_counts(6) == (1, 2, 3, 4, 6)
    assert thread_counts(8) == (1, 2, 3, 4, 8)
    assert thread_counts(12) == (1, 2, 3, 4, 8, 12)
    assert thread_counts(64) == (1, 2, 3, 4, 8, 16, 32, 64)


def test_there_is_at_least_one_core() -> None:
    assert usable_cores() >= 1
