"""What the status line and the message in the picture say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np

from rankotom_edge.readings.drift_monitor import DriftStatus
from rankotom_edge.sources import State
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.palette import RECORDING_HEX, WARNING_HEX
from rankotom_edge.views.presenter import STILL


def test_the_line_says_pace_model_and_source(window: Any, words: Callable[..., str]) -> None:
    said = words(window.frame_readings(window.HAPPY))
    for part in ("30 fps", "12 ms", "ferplus-fp32", "camera 0"):
        assert part in said
    assert "dropped" not in said
    assert "5 dropped" in words(
        window.frame_readings(window.HAPPY), replace(window.PLAYING, dropped=5)
    )
    assert "edge fp16" in words(
        window.frame_readings(window.HAPPY), replace(window.PLAYING, model="edge", precision="fp16")
    )


def test_recording_is_a_red_dot_and_a_word(window: Any, words: Callable[..., str]) -> None:
    recording = replace(window.PLAYING, recording="/tmp/session")
    assert "REC" in words(window.frame_readings(window.HAPPY), recording)
    assert (
        window.pixels_of(
            window.drawn(window.frame_readings(window.HAPPY), recording), RECORDING_HEX
        )
        > 30
    )
    assert window.pixels_of(window.drawn(window.frame_readings(window.HAPPY)), RECORDING_HEX) == 0


def test_the_demo_always_says_that_it_is_a_still(window: Any, words: Callable[..., str]) -> None:
    still = replace(window.PLAYING, still=True)
    for shown in (None, window.frame_readings(), window.frame_readings(window.HAPPY)):
        assert STILL in words(shown, still)
    assert STILL in words(
        window.frame_readings(window.HAPPY), replace(still, notice="saved snapshot.png")
    )


def test_a_notice_takes_the_line(window: Any, words: Callable[..., str]) -> None:
    said = words(
        window.frame_readings(window.HAPPY), replace(window.PLAYING, notice="saved snapshot.png")
    )
    assert "saved snapshot.png" in said
    assert "fps" not in said


def test_pause_nobody_and_nothing_yet_are_said(window: Any, words: Callable[..., str]) -> None:
    assert "paused" in words(window.frame_readings(window.HAPPY), controls=Controls(paused=True))
    assert "no face" in words(window.frame_readings())
    assert "no face" not in words(window.frame_readings(window.HAPPY))
    assert "waiting for camera 0" in words(None)


def test_a_drift_is_written_in_the_quiet_line_and_nothing_else_moves(
    window: Any, words: Callable[..., str]
) -> None:
    said = "confidence has drifted: light is low since 10:42"
    since = datetime(2026, 11, 16, 10, 42)
    drifted = replace(
        window.PLAYING, drift=DriftStatus("drifted", 0.6, 80, said, "light is low", since)
    )
    steady = replace(
        window.PLAYING, drift=DriftStatus("steady", 0.03, 90, "as measured", None, None)
    )
    shown = window.frame_readings(window.HAPPY)
    assert said in words(shown, drifted)
    assert "as measured" not in words(shown, steady)
    assert said not in words(shown, replace(drifted, state=State("lost", "lost: try again")))
    plain, warned = window.drawn(shown, steady), window.drawn(shown, drifted)
    assert window.pixels_of(warned, WARNING_HEX) > window.pixels_of(plain, WARNING_HEX)
    changed = np.nonzero((plain != warned).any(axis=2))[0]
    assert changed.min() >= 480  # below the frame, whose place is kept
