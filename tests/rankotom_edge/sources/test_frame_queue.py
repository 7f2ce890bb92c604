from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.frame import Frame
from rankotom_edge.sources.frame_queue import Handover

IMAGE = np.zeros((2, 2, 3), dtype=np.uint8)


def frame(index: int) -> Frame:
    return Frame(IMAGE, index, index / 10, index / 10)


def test_only_the_newest_frame_is_kept_and_the_others_are_counted() -> None:
    handover = Handover(1, newest=True)
    for index in range(5):
        assert handover.give(frame(index))
    taken = handover.take(timeout=0)
    assert taken is not None
    assert (taken.index, handover.dropped) == (4, 4)
    assert handover.take(timeout=0) is None


def test_a_frame_taken_in_time_is_not_dropped() -> None:
    handover = Handover(1, newest=True)
    for index in range(3):
        handover.give(frame(index))
        assert handover.take(timeout=0) is not None
    assert handover.dropped == 0


def waited_for(happens: Callable[[], bool], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while not happens() and time.monotonic() < until:
        time.sleep(0.001)
    return happens()


def test_each_in_its_turn_waits_for_room_and_drops_nothing() -> None:
    handover = Handover(2, newest=False)
    giver = threading.Thread(target=lambda: [handover.give(frame(index)) for index in range(50)])
    giver.start()
    taken = [handover.take(timeout=10) for _ in range(50)]
    giver.join()
    assert [got and got.index for got in taken] == list(range(50))
    assert handover.dropped == 0


def test_a_giver_who_filled_the_room_comes_again_when_it_is_almost_empty() -> None:
    handover = Handover(4, newest=False)
    given: list[int] = []

    def give() -> None:
        for index in range(100):
            if not handover.give(frame(index)):
                return
            given.append(index)

    giver = threading.Thread(target=give)
    giver.start()
    assert waited_for(lambda: len(given) == 4)
    for _ in range(2):
        handover.take(timeout=10)
    assert not waited_for(lambda: len(given) > 4, seconds=0.1)
    handover.take(timeout=10)
    assert waited_for(lambda: len(given) == 4 + 3)
    handover.close()
    giver.join(timeout=10)
    assert not giver.is_alive()


def test_a_giver_who_waits_for_room_is_sent_home_by_the_close() -> None:
    handover = Handover(1, newest=False)
    handover.give(frame(0))
    answers: list[bool] = []
    giver = threading.Thread(target=lambda: answers.append(handover.give(frame(1))))
    giver.start()
    handover.close()
    giver.join(timeout=10)
    assert answers == [False]
    assert handover.take(timeout=10) is None


def test_a_taker_does_not_wait_for_a_giver_who_has_finished() -> None:
    handover = Handover(3, newest=False)
    handover.give(frame(0))
    handover.finish()
    assert not handover.exhausted
    assert handover.take(timeout=10) is not None
    assert handover.exhausted
    assert handover.take(timeout=10) is None


def test_what_kept_the_first_frame_away_is_raised() -> None:
    handover = Handover(1, newest=True)
    handover.finish(RankotomError("no picture"))
    handover.finish()
    with pytest.raises(RankotomError, match="no picture"):
        handover.wait_for_first()


def test_an_error_after_the_first_frame_does_not_hide_it() -> None:
    handover = Handover(1, newest=False)
    handover.give(frame(0))
    handover.finish(RankotomError("torn"))
    handover.wait_for_first()
    assert handover.take(timeout=0) is not None


def test_an_error_after_the_first_frame_comes_out_behind_the_frames_before_it() -> None:
    handover = Handover(3, newest=False)
    handover.give(frame(0))
    handover.finish(RankotomError("line 10 is damaged"))
    handover.wait_for_first()
    assert handover.take(timeout=0) is not None
    with pytest.raises(RankotomError, match="line 10 is damaged"):
        handover.take(timeout=0)


def test_an_error_that_came_too_late_for_one_reader_is_told_to_the_next() -> None:
    handover = Handover(2, newest=False)
    assert handover.take(timeout=0) is None
    handover.finish(RankotomError("the disk is gone"))
    assert not handover.exhausted
    with pytest.raises(RankotomError, match="the disk is gone"):
        handover.take(timeout=0)
