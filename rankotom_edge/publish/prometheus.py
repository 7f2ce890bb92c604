"""Serves the run's counters and gauges to Prometheus."""

import math
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Protocol

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Enum,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from rankotom_edge.readings.drift_monitor import DriftStatus
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.sources import State

# Upper edges of the latency buckets in seconds, chosen by eye.
LATENCIES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
TENTHS = tuple(number / 10 for number in range(1, 11))
UNSURE_WINDOW = 1000  # readings in the unsure share: half a minute of one face at 30 fps


class RunStatus(Protocol):
    """The part of the views' status that has metrics."""

    @property
    def state(self) -> State: ...
    @property
    def fps(self) -> float | None: ...
    @property
    def dropped(self) -> int: ...
    @property
    def drift(self) -> DriftStatus | None: ...


class CountedStream(Protocol):
    """The part of a stream to another program that has metrics."""

    name: str
    sent: int
    dropped: int

    @property
    def connected(self) -> bool | None:
        """None where its protocol cannot know."""


class StreamCollector(Collector):
    """Reads the streams' counts when it is asked for them."""

    def __init__(self, streams: Sequence[CountedStream]) -> None:
        self._streams = streams

    def collect(self) -> Iterator[Metric]:
        sent = CounterMetricFamily(
            "rankotom_stream_sent", "Frames sent to another program.", labels=["stream"]
        )
        dropped = CounterMetricFamily(
            "rankotom_stream_dropped",
            "Frames that the other program did not take in time, or was not there for.",
            labels=["stream"],
        )
        connected = GaugeMetricFamily(
            "rankotom_stream_connected",
            "1 while somebody receives the stream; absent where its protocol cannot know.",
            labels=["stream"],
        )
        for stream in self._streams:
            sent.add_metric([stream.name], stream.sent)
            dropped.add_metric([stream.name], stream.dropped)
            if stream.connected is not None:
                connected.add_metric([stream.name], stream.connected)
        yield from (sent, dropped, connected)


class PrometheusSink:
    """Counts every frame that the loop writes; reads the status only when asked for the page."""

    def __init__(
        self, model: str, precision: str, sha256: str, edges: Sequence[float] = TENTHS
    ) -> None:
        """``edges``: the upper edges of the bins of the model's reliability table."""
        self._registry = registry = CollectorRegistry()
        counter = partial(Counter, registry=registry)
        gauge = partial(Gauge, registry=registry)
        histogram = partial(Histogram, registry=registry)
        state = partial(Enum, registry=registry)
        ProcessCollector(registry=registry)
        self._frames = counter("rankotom_frames", "Frames read.")
        self._dropped = counter(
            "rankotom_frames_dropped", "Frames that a newer one replaced before they were read."
        )
        self._faces = gauge("rankotom_faces", "Faces in the last frame.")
        self._readings = counter(
            "rankotom_readings",
            "Faces read, in all frames, by the expression named and whether it was sure.",
            ["expression", "verdict"],
        )
        latency = histogram(
            "rankotom_latency_seconds",
            "Time by stage: detect (when it ran), classify, and total from capture to reading.",
            ["stage"],
            buckets=LATENCIES,
        )
        self._detect, self._classify, self._total = (
            latency.labels(stage) for stage in ("detect", "classify", "total")
        )
        self._confidence = histogram(
            "rankotom_confidence",
            "Confidence of every face in every frame, not smoothed over time, in the bins of the "
            "model's reliability table; consecutive frames of one face are not independent.",
            buckets=edges,
        )
        self._unsure: deque[bool] = deque(maxlen=UNSURE_WINDOW)
        self._unsure_share = gauge(
            "rankotom_unsure_share",
            f"Share of unsure readings among the last {UNSURE_WINDOW}; NaN before the first.",
        )
        self._fps = gauge("rankotom_fps", "Frames per second, over the last second.")
        self._source = state(
            "rankotom_source", "State of the source.", states=["playing", "lost", "ended"]
        )
        self._drift_index = gauge(
            "rankotom_drift_index",
            "Population stability index of confidence against the model's held-out faces; NaN "
            "while learning.",
        )
        self._drift_faces = gauge(
            "rankotom_drift_faces", "Independent faces behind the drift index."
        )
        self._drift = state(
            "rankotom_drift",
            "Whether confidence is distributed as on the model's held-out faces.",
            states=["learning", "steady", "drifted"],
        )
        self._drift_cause = gauge(
            "rankotom_drift_cause",
            "1 for the cause of a drift, as named on screen; absent without one.",
            ["cause"],
        )
        info = Info("rankotom_model", "The model in use.", registry=registry)
        info.info({"name": model, "precision": precision, "sha256": sha256})
        self._drops_counted = 0
        self._streams: list[CountedStream] = []
        registry.register(StreamCollector(self._streams))

    def watch(self, streams: Sequence[CountedStream]) -> None:
        """Shows the counts of these streams too."""
        self._streams += streams

    def write(self, latest: FrameReadings) -> None:
        """Called in the loop's thread."""
        self._frames.inc()
        self._faces.set(len(latest.readings))
        latency = latest.latency
        if latency.detect is not None:
            self._detect.observe(latency.detect / 1000)
        self._classify.observe(latency.classify / 1000)
        self._total.observe(latency.total / 1000)
        for reading in latest.readings:
            self._readings.labels(reading.top, reading.verdict).inc()
            self._confidence.observe(float(reading.raw.max()))
            self._unsure.append(reading.verdict == "unsure")

    def page(self, status: RunStatus | None) -> tuple[bytes, str]:
        """The answer to ``GET /metrics`` and its content type. Call it from one thread only."""
        unsure = self._unsure.copy()
        self._unsure_share.set(sum(unsure) / len(unsure) if unsure else math.nan)
        if status is not None:
            self._update(status)
        return generate_latest(self._registry), CONTENT_TYPE_LATEST

    def _update(self, status: RunStatus) -> None:
        self._dropped.inc(max(0, status.dropped - self._drops_counted))
        self._drops_counted = max(self._drops_counted, status.dropped)
        self._fps.set(math.nan if status.fps is None else status.fps)
        self._source.state(status.state.kind)
        drift = status.drift
        if drift is not None:
            self._drift.state(drift.kind)
            self._drift_faces.set(drift.faces)
            self._drift_cause.clear()
            if drift.cause is not None:
                self._drift_cause.labels(drift.cause).set(1)
        index = None if drift is None else drift.index
        self._drift_index.set(math.nan if index is None else index)
