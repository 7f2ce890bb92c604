"""What window, terminal and page show: decided once, so tested once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rankotom_edge.readings.drift_monitor import DriftStatus
from rankotom_edge.sources import State
from rankotom_edge.views.controls import Controls
from rankotom_edge.views.presenter import (
    Message,
    bars_shown,
    drift_words,
    frame_rate,
    model_words,
    picture_message,
    shown_readings,
    source_words,
    status_line,
)

LOST = State("lost", "lost: opening it again in 4 s")
ENDED = State("ended", "ended")


def test_readings_are_smoothed_or_raw_as_the_keys_have_it(showing: Any) -> None:
    smoothed = showing.reading(happiness=0.8)
    both = replace(smoothed, raw=np.roll(smoothed.probabilities, 1))
    latest = showing.frame_readings(both)
    (reading,) = shown_readings(showing.display(latest))
    assert reading.probabilities is both.probabilities
    (reading,) = shown_readings(showing.display(latest, Controls(smoothed=False)))
    assert reading.probabilities == pytest.approx(both.raw)


def test_where_three_bars_fit_they_stay_while_small_ones_tremble(showing: Any) -> None:
    for fear, contempt in ((0.016, 0.024), (0.024, 0.016), (0.019, 0.02)):
        reading = showing.reading(happiness=0.9, neutral=0.05, fear=fear, contempt=contempt)
        shown = [reading.labels[index] for index in bars_shown(reading, 3)]
        assert shown == ["neutral", "happiness", "fear"]
    assert bars_shown(reading, 8) == list(range(8))


def test_the_bars_of_the_headline_come_first(showing: Any) -> None:
    blend = showing.reading(happiness=0.52, surprise=0.31)
    assert blend.blend is not None
    assert [blend.labels[index] for index in bars_shown(blend, 2)] == ["happiness", "surprise"]
    close = showing.reading(happiness=0.449, fear=0.451)
    assert [close.labels[index] for index in bars_shown(close, 1)] == ["fear"]


def test_a_lost_source_shows_no_readings_and_an_ended_one_keeps_them(showing: Any) -> None:
    latest = showing.frame_readings(showing.reading(happiness=0.8))
    assert shown_readings(showing.display(latest, state=LOST)) == ()
    assert len(shown_readings(showing.display(latest, state=ENDED))) == 1
    assert shown_readings(showing.display(None)) == ()


@pytest.mark.parametrize(
    ("state", "before_the_first", "without_a_face", "with_a_face"),
    [
        (
            State("playing", ""),
            Message("waiting for camera 0", attention=False),
            Message("no face", attention=False),
            None,
        ),
        (LOST, *[Message("camera 0, lost: opening it again in 4 s", attention=True)] * 3),
        (
            ENDED,
            Message("camera 0, ended", attention=False),
            Message("no face", attention=False),
            None,
        ),
        (
            State("playing", "playing: the file breaks off"),
            Message("waiting for camera 0", attention=False),
            Message("no face", attention=False),  # the remark is in the status line
            None,
        ),
    ],
    ids=["playing", "lost", "ended", "remark"],
)
def test_the_message_in_the_picture_says_why_there_is_no_face_to_see(
    showing: Any,
    state: State,
    before_the_first: Message,
    without_a_face: Message,
    with_a_face: Message | None,
) -> None:
    empty = showing.frame_readings()
    somebody = showing.frame_readings(showing.reading(happiness=0.8))
    assert picture_message(showing.display(None, state=state)) == before_the_first
    assert picture_message(showing.display(empty, state=state)) == without_a_face
    assert picture_message(showing.display(somebody, state=state)) == with_a_face


def test_the_status_line_ends_with_the_source_or_the_drift_or_the_loss(showing: Any) -> None:
    line = status_line(showing.display(None, dropped=1234))
    assert line.quiet == ("ferplus-fp32", "1,234 dropped")
    assert line.last == Message("camera 0", attention=False)
    line = status_line(showing.display(None, drift=showing.drifted))
    assert (line.quiet, line.last) == ((), Message(showing.drifted.words, attention=True))
    line = status_line(showing.display(None, drift=showing.drifted, state=LOST))
    assert line.quiet == ("ferplus-fp32",)
    assert line.last.words == "camera 0, lost: opening it again in 4 s"
    assert status_line(showing.display(None, drift=showing.steady)).last.words == "camera 0"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("rtsp://viewer@10.0.0.7:8554/front", "10.0.0.7"),
        ("udp://@:5000", "udp://@:5000"),
        ("CSI camera 0", "CSI camera 0"),
    ],
)
def test_a_lost_stream_is_named_by_its_machine_so_that_the_rest_is_not_cut_off(
    showing: Any, source: str, name: str
) -> None:
    lost = showing.display(None, source=source, state=LOST).status
    assert source_words(lost).words == f"{name}, lost: opening it again in 4 s"


def test_flags_name_the_switches_that_were_changed(showing: Any) -> None:
    assert status_line(showing.display(None)).flags == ()
    controls = Controls(paused=True, smoothed=False)
    assert status_line(showing.display(None, controls)).flags == ("raw", "paused: space goes on")


def test_a_remark_on_a_playing_source_needs_attention(showing: Any) -> None:
    status = replace(showing.status, state=State("playing", "playing: the file breaks off"))
    assert source_words(status) == Message("camera 0: the file breaks off", attention=True)


def test_what_is_not_known_yet_is_a_dash(showing: Any) -> None:
    assert frame_rate(showing.status) == ("30 fps", "12 ms")
    assert frame_rate(replace(showing.status, fps=None, latency_ms=None)) == ("– fps", "– ms")


def test_the_precision_is_not_repeated_after_a_name_that_has_it(showing: Any) -> None:
    assert model_words(showing.status) == "ferplus-fp32"
    assert model_words(replace(showing.status, model="edge", precision="fp16")) == "edge fp16"


def test_every_view_says_that_a_calibration_on_own_faces_is_used_and_when_it_has_expired(
    showing: Any,
) -> None:
    status = replace(showing.display(None).status, calibration="calibrated on 150 own faces")
    assert model_words(status).endswith(", calibrated on 150 own faces")
    words = "confidence has drifted: light is low since 10:42"
    drift = DriftStatus("drifted", 0.3, 80, words, "light is low", None)
    assert drift_words(replace(status, drift=drift)) == (f"{words}; own calibration expired")
    assert drift_words(replace(status, drift=drift, calibration=None)) == words
