"""The numbers that a fleet's monitoring reads, in Prometheus's own format."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from calib.emotions import EMOTIONS
from rankotom_edge.faces.face import Face
from rankotom_edge.faces.quality import Quality
from rankotom_edge.frame import Frame
from rankotom_edge.publish.prometheus import UNSURE_WINDOW, PrometheusSink
from rankotom_edge.readings.drift_monitor import DriftStatus
from rankotom_edge.readings.frame_readings import FrameReadings, Latency
from rankotom_edge.readings.reading import Reading
from rankotom_edge.sources import State
from rankotom_edge.views.display import Status

GOOD = Quality(score=0.9, size=0.9, sharpness=0.95, light=1.0, pose=1.0, whole=1.0)
FACE = Face((200, 120, 120, 120), (235, 160), (285, 160), (260, 185), (260, 215), 0.9)
STATUS = Status("camera 0", State("playing", ""), 29.5, 12.3, 0, "ferplus-fp32", "fp32")


def reading(confidence: float, verdict: Any = "sure") -> Reading:
    rest = (1 - confidence) / (len(EMOTIONS) - 1)
    shares = np.array([confidence, *[rest] * (len(EMOTIONS) - 1)])
    return Reading(1, FACE, GOOD, EMOTIONS, shares, shares, None, verdict, None)


def frame_readings(*readings: Reading, detect: float | None = 2.0) -> FrameReadings:
    frame = Frame(np.zeros((4, 4, 3), np.uint8), 0, 0.0, 0.0)
    return FrameReadings(frame, readings, Latency(detect, 1.0, 12.0))


def samples(sink: PrometheusSink, status: Status | None = STATUS) -> dict[str, float]:
    """By name and labels: "rankotom_readings_total neutral sure"."""
    text, kind = sink.page(status)
    assert kind.startswith("text/plain")
    return {
        " ".join([sample.name, *(sample.labels[name] for name in sorted(sample.labels))]): (
            sample.value
        )
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


@pytest.fixture
def sink() -> PrometheusSink:
    return PrometheusSink("ferplus-fp32", "fp32", "abc")


def test_frames_faces_and_verdicts_are_counted(sink: PrometheusSink) -> None:
    sink.write(frame_readings(reading(0.9), reading(0.4, "unsure")))
    sink.write(frame_readings(reading(0.8)))
    found = samples(sink)
    assert found["rankotom_frames_total"] == 2
    assert found["rankotom_faces"] == 1
    assert found["rankotom_readings_total neutral sure"] == 2
    assert found["rankotom_readings_total neutral unsure"] == 1
    assert found["rankotom_unsure_share"] == pytest.approx(1 / 3)


def test_each_stage_has_its_latency_in_seconds_and_detection_only_where_it_ran(
    sink: PrometheusSink,
) -> None:
    sink.write(frame_readings(detect=2.0))
    sink.write(frame_readings(detect=None))
    found = samples(sink)
    assert found["rankotom_latency_seconds_count detect"] == 1
    assert found["rankotom_latency_seconds_sum detect"] == pytest.approx(0.002)
    assert found["rankotom_latency_seconds_count total"] == 2
    assert found["rankotom_latency_seconds_bucket 0.01 total"] == 0
    assert found["rankotom_latency_seconds_bucket 0.02 total"] == 2


def test_confidence_is_in_the_bins_of_the_models_table_and_not_smoothed() -> None:
    sink = PrometheusSink("a", "fp32", "abc", edges=[place / 15 for place in range(1, 16)])
    smoothed = replace(reading(0.5), probabilities=reading(0.9).probabilities)
    sink.write(frame_readings(smoothed, reading(1.0)))
    found = samples(sink)
    edges = [name for name in found if name.startswith("rankotom_confidence_bucket")]
    assert len(edges) == 15 + 1
    assert found["rankotom_confidence_bucket 1.0"] == 2
    assert found["rankotom_confidence_count"] == 2
    below_half = max(float(name.split()[1]) for name in edges if found[name] == 0)
    assert below_half == pytest.approx(7 / 15)


def test_drops_only_ever_rise(sink: PrometheusSink) -> None:
    for dropped, shown in ((3, 3), (5, 5), (2, 5), (6, 6)):
        found = samples(sink, replace(STATUS, dropped=dropped))
        assert found["rankotom_frames_dropped_total"] == shown


def test_the_state_of_the_source_and_the_drift_are_exported(sink: PrometheusSink) -> None:
    found = samples(sink)
    assert found["rankotom_source playing"] == 1
    assert math.isnan(found["rankotom_drift_index"])
    drift = DriftStatus(
        "drifted", 0.31, 80, "confidence has drifted: light is low", "light is low", None
    )
    lost = replace(STATUS, state=State("lost", "lost"), drift=drift)
    found = samples(sink, lost)
    assert (found["rankotom_source playing"], found["rankotom_source lost"]) == (0, 1)
    assert found["rankotom_drift_index"] == pytest.approx(0.31)
    assert found["rankotom_drift drifted"] == 1
    assert found["rankotom_drift_faces"] == 80
    assert found["rankotom_drift_cause light is low"] == 1
    over = replace(STATUS, drift=replace(drift, kind="steady", cause=None))
    assert "rankotom_drift_cause light is low" not in samples(sink, over)


def test_there_is_a_page_before_the_first_frame(sink: PrometheusSink) -> None:
    found = samples(sink, None)
    assert found["rankotom_frames_total"] == 0
    assert math.isnan(found["rankotom_unsure_share"])
    assert found["rankotom_model_info ferplus-fp32 fp32 abc"] == 1


def test_the_unsure_share_is_over_the_last_thousand_readings(sink: PrometheusSink) -> None:
    for verdict in ("unsure", "sure"):
        for _ in range(UNSURE_WINDOW // 10):
            sink.write(frame_readings(*[reading(0.9, verdict)] * 10))
    assert samples(sink)["rankotom_unsure_share"] == 0


def test_two_in_one_process_do_not_share_their_numbers() -> None:
    one, other = PrometheusSink("a", "fp32", ""), PrometheusSink("b", "fp32", "")
    one.write(frame_readings())
    assert samples(other)["rankotom_frames_total"] == 0


class Counted:
    """A stream to another program, as far as it has metrics."""

    def __init__(self, name: str, sent: int, dropped: int, connected: bool | None) -> None:
        self.name, self.sent, self.dropped, self.connected = name, sent, dropped, connected


def test_frames_that_a_stream_sent_and_dropped_are_counted(sink: PrometheusSink) -> None:
    mqtt, osc = Counted("mqtt", 5, 2, False), Counted("osc", 7, 0, None)
    sink.watch([mqtt, osc])
    mqtt.dropped += 1
    found = samples(sink)
    assert found["rankotom_stream_sent_total mqtt"] == 5
    assert found["rankotom_stream_dropped_total mqtt"] == 3
    assert found["rankotom_stream_connected mqtt"] == 0
    assert found["rankotom_stream_dropped_total osc"] == 0
    assert "rankotom_stream_connected osc" not in found
