import pytest

from rankotom_edge.sources.sampling import Sampling


def taken(fps: float | None, times: list[float]) -> list[float]:
    sampling = Sampling(fps)
    return [time for time in times if sampling.takes(time)]


def test_the_first_frame_of_each_interval_is_taken() -> None:
    times = [number / 30 for number in range(30)]
    assert taken(10, times) == pytest.approx([number / 10 for number in range(10)])
    assert len(taken(7, times)) == 7


def test_without_a_rate_and_at_a_higher_rate_every_frame_is_taken() -> None:
    times = [number / 30 for number in range(30)]
    assert taken(None, times) == taken(100, times) == times


def test_after_a_gap_it_goes_on_at_the_same_rate() -> None:
    assert taken(1, [0.0, 0.5, 7.9, 8.0, 8.5]) == [0.0, 7.9, 8.0]


def test_a_source_that_starts_again_is_sampled_again() -> None:
    assert taken(1, [0.0, 5.0, 0.0, 0.1]) == [0.0, 5.0, 0.0]
