import pytest

from rankotom_edge.live.run_stats import KEPT, RunStats


def test_the_pace_is_that_of_the_last_second() -> None:
    tally = RunStats(started=0.0)
    assert tally.fps(0.0) is None
    for number in range(20):
        tally.add(5.0, now=number * 0.1)
    for number in range(31):
        tally.add(7.0, now=2.0 + number / 30)
    assert tally.fps(3.0) == pytest.approx(30)
    assert tally.latency(3.0) == pytest.approx(7.0)
    assert tally.fps(9.0) is None
    assert tally.latency(9.0) is None


def test_the_summary_tells_frames_pace_drops_and_latency() -> None:
    tally = RunStats(started=10.0)
    assert tally.summary(12.0, dropped=0) == "no frame in 2.0 s"
    for number in range(100):
        tally.add(float(number), now=10.0 + number / 50)
    assert tally.summary(12.0, dropped=3) == (
        "100 frames in 2.0 s (50.0 a second), 3 dropped; "
        "capture to reading 49.5 ms, 19 of 20 under 94.0 ms"
    )


def test_frames_of_hours_take_no_more_memory() -> None:
    tally = RunStats(started=0.0)
    for number in range(KEPT + 500):
        tally.add(1.0, now=number / 1000)
    assert tally.frames == KEPT + 500
    assert len(tally._latencies) == KEPT
    assert len(tally._recent) <= 1001
