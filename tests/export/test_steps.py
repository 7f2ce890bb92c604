"""Steps of a long task, timed by a clock of our own."""

import pytest

from export.steps import ALMOST, Steps


def test_the_time_left_is_what_the_finished_steps_say_of_this_machine() -> None:
    now = 0.0
    steps = Steps(lambda: now)
    steps.expect({"reading": 10, "rounding": 20, "judging": 10})
    steps.begin("reading")
    assert (steps.number, steps.count, steps.seconds_left) == (1, 3, None)
    now = 20.0  # twice as long as planned
    steps.begin("rounding")
    assert (steps.number, steps.words) == (2, "rounding")
    assert steps.seconds_left == pytest.approx(60)
    now = 40.0
    assert steps.seconds_left == pytest.approx(40)
    assert steps.share == pytest.approx(0.5)


def test_the_share_never_falls_and_a_slow_step_waits_before_its_end() -> None:
    now = 0.0
    steps = Steps(lambda: now)
    steps.expect({"one": 10, "other": 10})
    shares = [steps.share]
    for words in ("one", "other"):
        steps.begin(words)
        for _ in range(40):
            now += 1
            shares.append(steps.share)
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] == pytest.approx((1 + ALMOST) / 2)


def test_a_step_that_nobody_expected_counts_from_when_it_begins() -> None:
    steps = Steps(lambda: 0.0)
    steps.expect({"one": 1})
    steps.begin("one")
    steps.begin("another")
    assert (steps.number, steps.count) == (2, 2)
