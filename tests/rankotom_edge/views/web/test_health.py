"""Healthy while frames come; else the reason."""

from dataclasses import replace
from typing import Any

import pytest

from rankotom_edge.sources import State
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.web.health import MAX_SILENCE, health
from rankotom_edge.views.web.relay import Update


def test_frames_that_come_are_healthy(showing: Any) -> None:
    shown = Update(1, showing.display(showing.frame_readings()), 10.0, 9.9)
    assert health(shown, 10.5) == (True, "frames come")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"frame_at": None, "latest": None}, "waiting for camera 0"),
        ({"frame_at": 10.0 - MAX_SILENCE - 1}, "camera 0 gave no frame for 6 s"),
        ({"shown_at": 10.0 - MAX_SILENCE - 1}, "the program has stood still for 6 s"),
        ({"state": State("lost", "lost: opening it again in 4 s")}, "camera 0, lost: opening it"),
        ({"state": State("ended", "ended")}, "camera 0, ended"),
    ],
)
def test_without_frames_it_says_why(showing: Any, changes: dict[str, Any], words: str) -> None:
    state = changes.pop("state", showing.status.state)
    display = showing.display(changes.pop("latest", showing.frame_readings()), state=state)
    state = health(replace(Update(1, display, 10.0, 10.0), **changes), 10.0)
    assert not state.ok
    assert state.words.startswith(words)


def test_a_person_who_paused_it_has_not_broken_it(showing: Any) -> None:
    shown = Update(1, showing.display(showing.frame_readings(), Controls(paused=True)), 10.0, 1.0)
    assert health(shown, 10.0).ok


def test_before_the_first_frame_it_is_not_yet_healthy() -> None:
    assert not health(None, 0.0).ok
