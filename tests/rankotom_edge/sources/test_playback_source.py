from __future__ import annotations

import threading
import time
from collections.abc import Generator

import numpy as np
import pytest

from calib.errors import RankotomError
from rankotom_edge.sources.playback_source import (
    AHEAD,
    Clip,
    PlaybackPace,
    PlaybackSource,
    TimedImage,
)

IMAGE = np.zeros((2, 2, 3), dtype=np.uint8)


class CountedClip(Clip):
    name = "a clip"
    fps = 10.0

    def __init__(self, count: int = 1000, fails_at: int | None = None) -> None:
        self.count = count
        self.fails_at = fails_at
        self.made = 0
        self.put_away = False

    def images(self) -> Generator[TimedImage, None, None]:
        try:
            for number in range(self.count):
                if number == self.fails_at:
                    raise RankotomError("the clip is torn")
                self.made += 1
                yield TimedImage(IMAGE, number / 10)
        finally:
            self.put_away = True


class ManualClock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_picture_is_due_at_its_time_after_the_first() -> None:
    pace = PlaybackPace()
    assert pace.due_in(0.0, now=50.0) == 0
    assert pace.due_in(0.1, now=50.02) == pytest.approx(0.08)
    assert pace.due_in(0.2, now=50.3) == pytest.approx(-0.1)


def test_a_little_lateness_is_caught_up_with() -> None:
    pace = PlaybackPace()
    pace.due_in(0.0, now=50.0)
    assert pace.due_in(0.1, now=50.3) == pytest.approx(-0.2)
    assert pace.due_in(0.4, now=50.3) == pytest.approx(0.1)


def test_after_a_pause_it_goes_on_at_its_pace_and_does_not_race() -> None:
    pace = PlaybackPace()
    pace.due_in(0.0, now=50.0)
    assert pace.due_in(0.1, now=60.0) == 0
    assert pace.due_in(0.2, now=60.0) == pytest.approx(0.1)


def test_a_paced_source_gives_a_frame_when_it_is_due_by_the_clock_and_skips_none() -> None:
    clock = ManualClock()
    with PlaybackSource(CountedClip(), paced=True, clock=clock) as source:
        first = source.read(timeout=5)
        assert first is not None
        assert (first.index, first.captured) == (0, 100.0)
        assert source.read(timeout=0.01) is None
        clock.now = 100.1
        second = source.read(timeout=0)
        assert second is not None
        assert (second.index, second.captured) == (1, 100.1)
        clock.now = 200.0
        later = [source.read(timeout=0.01) for _ in range(3)]
        assert [frame and frame.index for frame in later] == [2, None, None]


def test_a_paced_source_waits_by_itself_until_the_frame_is_due() -> None:
    with PlaybackSource(CountedClip(), paced=True) as source:
        began = time.monotonic()
        frames = [source.read(timeout=5) for _ in range(4)]
        assert [frame and frame.index for frame in frames] == [0, 1, 2, 3]
        assert time.monotonic() - began >= 0.29


def test_an_unpaced_source_gives_frames_as_fast_as_they_are_read() -> None:
    clock = ManualClock()
    with PlaybackSource(CountedClip(500), paced=False, clock=clock) as source:
        frames = [source.read(timeout=5) for _ in range(500)]
        assert [frame and frame.index for frame in frames] == list(range(500))
        assert source.read(timeout=5) is None
        assert source.state.kind == "ended"


def test_a_few_pictures_are_decoded_ahead_and_no_more() -> None:
    clip = CountedClip()
    with PlaybackSource(clip, paced=False) as source:
        source.read(timeout=5)
        time.sleep(0.2)
        # The queue was filled once, before or after the first frame was read, and the decoder holds
        # one more.
        assert clip.made in (AHEAD + 1, AHEAD + 2)


def test_a_closed_source_leaves_no_thread_and_puts_its_clip_away() -> None:
    before = threading.active_count()
    clip = CountedClip()
    with PlaybackSource(clip, paced=True) as source:
        source.read(timeout=5)
        assert threading.active_count() == before + 1
    assert threading.active_count() == before
    assert clip.put_away
    assert source.state.kind == "ended"


def test_a_clip_that_fails_at_once_is_an_error_without_a_thread_left() -> None:
    before = threading.active_count()
    with pytest.raises(RankotomError, match="torn"):
        PlaybackSource(CountedClip(fails_at=0), paced=False)
    assert threading.active_count() == before


def test_a_clip_that_fails_later_says_so_behind_its_last_frame() -> None:
    with PlaybackSource(CountedClip(fails_at=2), paced=False) as source:
        assert [source.read(timeout=5) is None for _ in range(2)] == [False, False]
        with pytest.raises(RankotomError, match="the clip is torn"):
            source.read(timeout=5)
        assert source.state.kind == "ended"


def test_the_wait_in_the_queue_is_not_taken_for_latency() -> None:
    clock = ManualClock()
    with PlaybackSource(CountedClip(), paced=False, clock=clock) as source:
        time.sleep(0.1)
        clock.now = 107.0
        frame = source.read(timeout=5)
        assert frame is not None
        assert frame.captured == 107.0
