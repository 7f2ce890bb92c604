"""What the strip of the last minute is drawn from."""

from typing import Any

from calib.emotions import EMOTIONS
from rankotom_edge.views.history import History, Moment

HAPPINESS, SURPRISE = EMOTIONS.index("happiness"), EMOTIONS.index("surprise")


def test_each_step_has_the_headline_that_it_had_for_longest(showing: Any) -> None:
    history = History(seconds=3, step=1)
    happy, unsure = showing.reading(happiness=0.8), showing.reading(happiness=0.5, reason="blurred")
    for time, reading in ((0.0, happy), (0.3, happy), (0.6, unsure), (1.0, unsure), (2.0, happy)):
        history.add(time, [reading])
    sure = Moment((HAPPINESS,), unsure=False)
    assert history.lane(1) == (sure, Moment((HAPPINESS,), unsure=True), sure)


def test_a_blend_has_both_its_emotions_the_larger_first(showing: Any) -> None:
    history = History(seconds=2, step=1)
    history.add(0.0, [showing.reading(surprise=0.5, happiness=0.4)])
    assert history.lane(1)[-1] == Moment((SURPRISE, HAPPINESS), unsure=False)


def test_where_a_face_was_not_in_sight_there_is_a_gap_and_in_the_end_no_lane(showing: Any) -> None:
    history = History(seconds=4, step=1)
    for time in (0.0, 1.0):
        history.add(time, [showing.reading(track=1, happiness=0.8)])
    history.add(2.0, [])
    history.add(3.0, [showing.reading(track=2, happiness=0.8)])
    assert [moment is not None for moment in history.lane(1)] == [True, True, False, False]
    assert history.tracks == (1, 2)
    for time in (5.0, 6.0):
        history.add(time, [])
    assert history.tracks == (2,)
    assert history.lane(1) == (None,) * 4


def test_a_clip_that_starts_again_starts_an_empty_minute(showing: Any) -> None:
    history = History(seconds=4, step=1)
    for time in (8.0, 9.0, 0.0):
        history.add(time, [showing.reading(happiness=0.8)])
    assert sum(moment is not None for moment in history.lane(1)) == 1
