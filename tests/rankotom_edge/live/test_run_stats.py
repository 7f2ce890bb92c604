import pytest

from rankotom_edge.live.run_stats import MAX_LATENCIES, RunStats


def test_the_frame_rate_is_that_of_the_last_second() -> None:
    stats = RunStats(started=0.0)
    assert stats.fps(0.0) is None
    for number in range(20):
        stats.add(5.0, now=number * 0.1)
    for number in range(31):
        stats.add(7.0, now=2.0 + number / 30)
    assert stats.fps(3.0) == pytest.approx(30)
    assert stats.latency(3.0) == pytest.approx(7.0)
    assert stats.fps(9.0) is None
    assert stats.latency(9.0) is None


def test_the_summary_has_frames_frame_rate_drops_and_latency() -> None:
    stats = RunStats(started=10.0)
    assert stats.summary(12.0, dropped=0) == "no frame in 2.0 s"
    for number in range(100):
        stats.add(float(number), now=10.0 + number / 50)
    assert stats.summary(12.0, dropped=3) == (
        "100 frames in 2.0 s (50.0 a second), 3 dropped; "
        "capture to reading p50 49.5 ms, p95 94.0 ms"
    )


def test_frames_of_hours_take_no_more_memory() -> None:
    stats = RunStats(started=0.0)
    for number in range(MAX_LATENCIES + 500):
        stats.add(1.0, now=number / 1000)
    assert stats.frames == MAX_LATENCIES + 500
    assert len(stats._latencies) == MAX_LATENCIES
    assert len(stats._recent) <= 1001
