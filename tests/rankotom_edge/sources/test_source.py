from __future__ import annotations

import cv2
import pytest

from calib.errors import RankotomError
from rankotom_edge.frame import Frame
from rankotom_edge.sources.source import Source, State, reading_error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(13, "Permission denied", "/a"), "/a cannot be read: Permission denied."),
        (OSError(5, "Input/output error"), "clip.avi cannot be read: Input/output error."),
        (cv2.error("out of memory\n> in 3 lines"), "clip.avi cannot be read any further: out of"),
        (MemoryError(), "clip.avi cannot be read any further: MemoryError"),
    ],
)
def test_what_stops_a_reading_thread_becomes_one_line_for_the_user(
    error: Exception, words: str
) -> None:
    message = str(reading_error(error, "clip.avi"))
    assert message.startswith(words)
    assert "\n" not in message


def test_an_error_that_is_written_for_the_user_stays_as_it_is() -> None:
    error = RankotomError("the session is damaged")
    assert reading_error(error, "clip.avi") is error


def test_a_source_is_closed_at_the_end_of_its_block_also_by_an_error() -> None:
    class Closed(Source):
        name, live, still, photographs, fps, dropped = "nothing", True, False, False, None, 0
        state = State("playing", "playing")
        closed = 0

        def read(self, timeout: float) -> Frame | None:
            return None

        def close(self) -> None:
            self.closed += 1

    source = Closed()
    with pytest.raises(KeyboardInterrupt), source:
        raise KeyboardInterrupt
    assert source.closed == 1
