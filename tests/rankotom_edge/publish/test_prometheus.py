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
from rankotom_edge.publish.prometheus import LATELY, PrometheusMetrics
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


def moment(*readings: Reading, detect: float | None = 2.0) -> FrameReadings:
    frame = Frame(np.zeros((4, 4, 3), np.uint8), 0, 0.0, 0.0)
    return FrameReadings(frame, readings, Latency(detect, 1.0, 12.0))


def samples(metrics: PrometheusMetrics, status: Status | None = STATUS) -> dict[str, float]:
    """By name and labels: "rankotom_readings_total neutral sure"."""
    text, kind = metrics.page(status)
    assert kind.startswith("text/plain")
    return {
        " ".join([sample.name, *(sample.labels[name] for name in sorted(sample.labels))]): (
            sample.value
        )
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


@pytest.fixture
def metrics() -> PrometheusMetrics:
    return PrometheusMetrics("ferplus-fp32", "fp32", "abc")


def test_frames_faces_and_verdicts_are_counted(metrics: PrometheusMetrics) -> None:
    metrics.write(moment(reading(0.9), reading(0.4, "unsure")))
    metrics.write(moment(reading(0.8)))
    found = samples(metrics)
    assert found["rankotom_frames_total"] == 2
    assert found["rankotom_faces"] == 1
    assert found["rankotom_readings_total neutral sure"] == 2
    assert found["rankotom_readings_total neutral unsure"] == 1
    assert found["rankotom_unsure_share"] == pytest.approx(1 / 3)


def test_each_stage_has_its_latency_in_seconds_and_detection_only_where_it_ran(
    metrics: PrometheusMetrics,
) -> None:
    metrics.write(moment(detect=2.0))
    metrics.write(moment(detect=None))
    found = samples(metrics)
    assert found["rankotom_latency_seconds_count detect"] == 1
    assert found["rankotom_latency_seconds_sum detect"] == pytest.approx(0.002)
    assert found["rankotom_latency_seconds_count total"] == 2
    assert found["rankotom_latency_seconds_bucket 0.01 total"] == 0
    assert found["rankotom_latency_seconds_bucket 0.02 total"] == 2


def test_confidence_is_in_the_bins_of_the_models_table_and_not_smoothed() -> None:
    metrics = PrometheusMetrics("a", "fp32", "abc", edges=[place / 15 for place in range(1, 16)])
    smoothed = replace(reading(0.5), probabilities=reading(0.9).probabilities)
    metrics.write(moment(smoothed, reading(1.0)))
    found = samples(metrics)
    edges = [name for name in found if name.startswith("rankotom_confidence_bucket")]
    assert len(edges) == 15 + 1
    assert found["rankotom_confidence_bucket 1.0"] == 2
    assert found["rankotom_confidence_count"] == 2
    below_half = max(float(name.split()[1]) for name in edges if found[name] == 0)
    assert below_half == pytest.approx(7 / 15)


def test_drops_only_ever_rise(metrics: PrometheusMetrics) -> None:
    for dropped, told in ((3, 3), (5, 5), (2, 5), (6, 6)):
        found = samples(metrics, replace(STATUS, dropped=dropped))
        assert found["rankotom_frames_dropped_total"] == told


def test_the_source_and_the_drift_are_told(metrics: PrometheusMetrics) -> None:
    found = samples(metrics)
    assert found["rankotom_source playing"] == 1
    assert math.isnan(found["rankotom_drift_index"])
    drift = DriftStatus(
        "drifted", 0.31, 80, "confidence has drifted: light is low", "light is low", None
    )
    lost = replace(STATUS, state=State("lost", "lost"), drift=drift)
    found = samples(metrics, lost)
    assert (found["rankotom_source playing"], found["rankotom_source lost"]) == (0, 1)
    assert found["rankotom_drift_index"] == pytest.approx(0.31)
    assert found["rankotom_drift drifted"] == 1
    assert found["rankotom_drift_faces"] == 80
    assert found["rankotom_drift_cause light is low"] == 1
    over = replace(STATUS, drift=replace(drift, kind="steady", cause=None))
    assert "rankotom_drift_cause light is low" not in samples(metrics, over)


def test_before_the_first_frame_it_answers_already(metrics: PrometheusMetrics) -> None:
    found = samples(metrics, None)
    assert found["rankotom_frames_total"] == 0
    assert math.isnan(found["rankotom_unsure_share"])
    assert found["rankotom_model_info ferplus-fp32 fp32 abc"] == 1


def test_the_unsure_share_is_of_late(metrics: PrometheusMetrics) -> None:
    for verdict in ("unsure", "sure"):
        for _ in range(LATELY // 10):
            metrics.write(moment(*[reading(0.9, verdict)] * 10))
    assert samples(metrics)["rankotom_unsure_share"] == 0


def test_two_in_one_process_do_not_share_their_numbers() -> None:
    one, other = PrometheusMetrics("a", "fp32", ""), PrometheusMetrics("b", "fp32", "")
    one.write(moment())
    assert samples(other)["rankotom_frames_total"] == 0
