import numpy as np
import pytest
from scipy import stats

from calib.intervals import (
    Interval,
    change_interval,
    share_interval,
    student_quantile,
    time_share_interval,
)


def test_a_share_has_the_score_interval() -> None:
    """The example of Wilson's interval in Brown, Cai and DasGupta (2001): 10 of 100."""
    interval = share_interval(10, 100)
    assert interval.low == pytest.approx(0.0552, abs=1e-4)
    assert interval.high == pytest.approx(0.1744, abs=1e-4)


@pytest.mark.parametrize(
    ("hits", "low", "high"), [(0, 0.0, 0.1135), (30, 0.8865, 1.0)], ids=["none", "all"]
)
def test_none_and_all_of_thirty_faces_leave_a_tenth_open(
    hits: int, low: float, high: float
) -> None:
    interval = share_interval(hits, 30)
    assert interval.low == pytest.approx(low, abs=1e-4)
    assert interval.high == pytest.approx(high, abs=1e-4)


@pytest.mark.parametrize("faces", [1, 2, 10, 1000])
def test_an_interval_holds_what_was_measured_and_stays_within_bounds(faces: int) -> None:
    for hits in {0, 1, faces // 2, faces}:
        interval = share_interval(hits, faces)
        assert 0 <= interval.low <= hits / faces <= interval.high <= 1
        change = change_interval(lost=hits, won=0, faces=faces)
        assert -1 <= change.low <= -hits / faces <= change.high <= 1


def test_a_change_either_way_has_the_mirrored_interval() -> None:
    lost, won = change_interval(7, 2, 90), change_interval(2, 7, 90)
    assert (lost.low, lost.high) == pytest.approx((-won.high, -won.low))


@pytest.mark.parametrize(("faces", "rate"), [(30, 0.04), (300, 0.02), (3000, 0.005)])
def test_intervals_hold_the_truth_about_95_times_in_100(faces: int, rate: float) -> None:
    generator = np.random.default_rng(5)
    shares, changes = 0, 0
    for flips, lost in zip(
        generator.binomial(faces, rate, 1000), generator.binomial(faces, rate, 1000), strict=True
    ):
        share = share_interval(int(flips), faces)
        shares += share.low <= rate <= share.high
        won = int(generator.binomial(faces - lost, rate / 2 / (1 - rate)))
        change = change_interval(int(lost), won, faces)
        changes += change.low <= -rate / 2 <= change.high
    assert shares >= 920
    assert changes >= 920


def test_only_what_lies_inside_is_spanned() -> None:
    assert Interval(0.1, 0.3).spans(0.2)
    assert not Interval(0.1, 0.3).spans(0.3)


@pytest.mark.parametrize("freedom", [3, 5, 10, 100])
def test_the_quantile_is_students(freedom: float) -> None:
    assert student_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=0.01)


@pytest.mark.parametrize(
    ("episodes", "happy", "happy_length", "other_length"),
    [(40, 0.3, 5, 5), (15, 0.3, 5, 5), (200, 0.05, 20, 2), (40, 0.5, 1, 20)],
    ids=["alike", "few", "rare and long", "short"],
)
def test_the_share_of_time_is_held_about_95_times_in_100(
    episodes: int, happy: float, happy_length: float, other_length: float
) -> None:
    """Independent episodes whose lengths depend on what they show."""
    generator = np.random.default_rng(0)
    expected = happy * happy_length, (1 - happy) * other_length
    truth, held, drawn = expected[0] / sum(expected), 0, 0
    while drawn < 1000:
        shown = generator.random(episodes) < happy
        if not shown.any() or shown.all():
            continue
        seconds = generator.exponential(np.where(shown, happy_length, other_length))
        parts = [
            (float(part.sum()), float((part**2).sum()))
            for part in (seconds[shown], seconds[~shown])
        ]
        interval = time_share_interval(*parts[0], *parts[1])
        held += interval.low <= truth <= interval.high
        drawn += 1
    assert 930 <= held <= 985


def test_equal_episodes_count_as_so_many_trials_however_long_they_are() -> None:
    short, long = (time_share_interval(300 * d, 300 * d**2, 700 * d, 700 * d**2) for d in (1, 60))
    assert (short.low, short.high) == pytest.approx((long.low, long.high))
    trials = share_interval(300, 1000)
    assert (short.low, short.high) == pytest.approx((trials.low, trials.high), abs=1e-3)


def test_one_episode_says_next_to_nothing_of_a_share() -> None:
    interval = time_share_interval(60, 60**2, 0, 0)
    assert interval.low < 0.05
    assert interval.high == 1
