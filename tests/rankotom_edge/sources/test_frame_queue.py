from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.frame import Frame
from rankotom_edge.sources.frame_queue import FrameQueue

IMAGE = np.zeros((2, 2, 3), dtype=np.uint8)


def frame(index: int) -> Frame:
    return Frame(IMAGE, index, index / 10, index / 10)


def test_only_the_newest_frame_is_kept_and_the_others_are_counted() -> None:
    queue = FrameQueue(1, keep_newest=True)
    for index in range(5):
        assert queue.put(frame(index))
    taken = queue.get(timeout=0)
    assert taken is not None
    assert (taken.index, queue.dropped) == (4, 4)
    assert queue.get(timeout=0) is None


def test_a_frame_taken_in_time_is_not_dropped() -> None:
    queue = FrameQueue(1, keep_newest=True)
    for index in range(3):
        queue.put(frame(index))
        assert queue.get(timeout=0) is not None
    assert queue.dropped == 0


def waited_for(happens: Callable[[], bool], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while not happens() and time.monotonic() < until:
        time.sleep(0.001)
    return happens()


def test_a_queue_that_keeps_all_frames_waits_for_room_and_drops_nothing() -> None:
    queue = FrameQueue(2, keep_newest=False)
    putter = threading.Thread(target=lambda: [queue.put(frame(index)) for index in range(50)])
    putter.start()
    taken = [queue.get(timeout=10) for _ in range(50)]
    putter.join()
    assert [got and got.index for got in taken] == list(range(50))
    assert queue.dropped == 0


def test_a_full_queue_is_filled_again_only_when_it_is_almost_empty() -> None:
    queue = FrameQueue(4, keep_newest=False)
    given: list[int] = []

    def put() -> None:
        for index in range(100):
            if not queue.put(frame(index)):
                return
            given.append(index)

    putter = threading.Thread(target=put)
    putter.start()
    assert waited_for(lambda: len(given) == 4)
    for _ in range(2):
        queue.get(timeout=10)
    assert not waited_for(lambda: len(given) > 4, seconds=0.1)
    queue.get(timeout=10)
    assert waited_for(lambda: len(given) == 4 + 3)
    queue.close()
    putter.join(timeout=10)
    assert not putter.is_alive()


def test_closing_the_queue_ends_a_put_that_waits_for_room() -> None:
    queue = FrameQueue(1, keep_newest=False)
    queue.put(frame(0))
    answers: list[bool] = []
    putter = threading.Thread(target=lambda: answers.append(queue.put(frame(1))))
    putter.start()
    queue.close()
    putter.join(timeout=10)
    assert answers == [False]
    assert queue.get(timeout=10) is None


def test_a_get_does_not_wait_for_a_thread_that_has_finished() -> None:
    queue = FrameQueue(3, keep_newest=False)
    queue.put(frame(0))
    queue.finish()
    assert not queue.exhausted
    assert queue.get(timeout=10) is not None
    assert queue.exhausted
    assert queue.get(timeout=10) is None


def test_the_error_that_prevented_the_first_frame_is_raised() -> None:
    queue = FrameQueue(1, keep_newest=True)
    queue.finish(RankotomError("no picture"))
    queue.finish()
    with pytest.raises(RankotomError, match="no picture"):
        queue.wait_for_first()


def test_an_error_after_the_first_frame_does_not_hide_it() -> None:
    queue = FrameQueue(1, keep_newest=False)
    queue.put(frame(0))
    queue.finish(RankotomError("torn"))
    queue.wait_for_first()
    assert queue.get(timeout=0) is not None


def test_an_error_after_the_first_frame_comes_out_behind_the_frames_before_it() -> None:
    queue = FrameQueue(3, keep_newest=False)
    queue.put(frame(0))
    queue.finish(RankotomError("line 10 is damaged"))
    queue.wait_for_first()
    assert queue.get(timeout=0) is not None
    with pytest.raises(RankotomError, match="line 10 is damaged"):
        queue.get(timeout=0)


def test_an_error_that_came_too_late_for_one_get_is_raised_in_the_next() -> None:
    queue = FrameQueue(2, keep_newest=False)
    assert queue.get(timeout=0) is None
    queue.finish(RankotomError("the disk is gone"))
    assert not queue.exhausted
    with pytest.raises(RankotomError, match="the disk is gone"):
        queue.get(timeout=0)
