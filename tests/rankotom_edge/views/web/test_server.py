"""What the real server answers: streams, numbers, and how it ends."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import pytest

from calib.emotions import EMOTIONS
from rankotom_edge.sources import State


def test_readings_are_the_recorders_lines(stage: Any, showing: Any) -> None:
    reading = showing.reading(happiness=0.9)
    events = stage.events("/api/readings", reading)
    seen = [next(events) for _ in range(5)]
    assert [set(line) for line in seen] == [{"frame", "time", "faces", "latency_ms"}] * 5
    assert [line["frame"] for line in seen] == sorted({line["frame"] for line in seen})
    expected = json.loads(json.dumps(reading.as_json()))
    assert all(line["faces"] == [expected] for line in seen)


def test_the_live_stream_begins_with_the_model_and_goes_on_with_the_faces(
    stage: Any, showing: Any
) -> None:
    events = stage.events("/api/live", showing.reading(anger=0.9))
    hello, first = next(events), next(events)
    assert hello["labels"] == list(EMOTIONS)
    assert hello["bins"]
    while not first.get("faces"):
        first = next(events)
    assert first["faces"][0]["title"] == "anger"
    seconds = next(stage.events("/api/live", showing.reading(anger=0.9), name="seconds"))
    number, shares = seconds[-1]
    assert isinstance(number, int)
    assert shares is None or shares[EMOTIONS.index("anger")] == pytest.approx(0.9, abs=0.01)


def test_the_video_is_pictures_that_a_browser_replaces(stage: Any, showing: Any) -> None:
    with stage.stream("/video") as reader:
        reader.settimeout(0.05)
        heard = b""

        def pictures() -> bool:
            nonlocal heard
            with suppress(TimeoutError):
                heard += reader.recv(1 << 16)
            return heard.count(b"--picture") >= 4

        stage.show_until(pictures, showing.reading(happiness=0.9))
    head, first, *_ = heard.split(b"--picture\r\n")
    assert b"multipart/x-mixed-replace; boundary=picture" in head
    assert b"cache-control: no-store" in head
    jpeg = first[first.index(b"\xff\xd8") : first.rindex(b"\xff\xd9") + 2]
    assert cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR).shape == (480, 640, 3)


def test_without_video_there_is_no_picture_anywhere(
    make_stage: Callable[..., Any], showing: Any
) -> None:
    stage = make_stage(video=False)
    assert stage.ask("/video").status == 404
    for key in ("v", "c", "s"):  # a snapshot is a picture too
        assert stage.ask(f"/api/keys/{key}", "POST").status == 404
    assert stage.ask("/api/keys/b", "POST").status == 204
    events = stage.events("/api/live", showing.reading(happiness=0.9))
    assert next(events)["video"] is False
    for said in (next(events) for _ in range(4)):
        assert all("crop" not in face for face in said.get("faces", []))
    assert not stage.controls.crop
    assert "crop" not in json.dumps(next(stage.events("/api/readings", showing.reading(fear=0.9))))


def test_meta_is_the_models_card(stage: Any, artifact: Any) -> None:
    meta = stage.ask("/api/meta").json
    assert meta["name"] == artifact.card.name
    assert meta["sha256"] == artifact.sha256
    assert meta["figures"]["ece"] == artifact.card.evaluation.metrics["ece"].value


def test_health_is_503_with_the_reason_until_frames_come_and_when_they_stop(stage: Any) -> None:
    assert stage.ask("/healthz").status == 503
    stage.show()
    assert stage.ask("/healthz").json == {"ok": True, "reason": "frames come"}
    stage.status = replace(stage.status, state=State("lost", "lost: opening it again in 4 s"))
    stage.show()
    answer = stage.ask("/healthz")
    assert answer.status == 503
    assert "lost: opening it again" in answer.json["reason"]


def test_metrics_are_prometheus_text(stage: Any, showing: Any) -> None:
    stage.show(showing.reading(happiness=0.9))
    answer = stage.ask("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert b"rankotom_frames_total 1.0" in answer.body


def test_keys_come_out_of_the_view_in_order_and_never_more_than_it_holds(stage: Any) -> None:
    for key in ("space", "b", "q"):
        assert stage.ask(f"/api/keys/{key}", "POST").status == 204
    assert [stage.view.key() for _ in range(4)] == ["space", "b", "q", None]
    for unknown in ("x", "esc", "%2e%2e", "Q"):
        assert stage.ask(f"/api/keys/{unknown}", "POST").status == 404
    assert stage.ask("/api/keys/q").status == 405
    for _ in range(40):
        stage.ask("/api/keys/b", "POST")
    assert len(list(iter(stage.view.key, None))) == 32


def test_a_reader_that_takes_nothing_holds_up_neither_the_loop_nor_the_others(
    stage: Any, showing: Any
) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (480, 640, 3), dtype=np.uint8)
    latest = showing.frame_readings(showing.reading(happiness=0.9))
    heavy = replace(latest, frame=replace(latest.frame, image=noise))
    stalled = [stage.stream("/video"), stage.stream("/api/readings")]
    slowest = 0.0
    for _ in range(150):
        began = time.monotonic()
        stage.view.show(showing.display(replace(heavy)))
        slowest = max(slowest, time.monotonic() - began)
        time.sleep(0.01)
    assert slowest < 1
    held = sum(_waiting_bytes(reader) for reader in stalled)
    assert held < 1_500_000  # what the kernels took; we hold a picture at most
    assert next(stage.events("/api/readings"))["frame"] >= 0
    for reader in stalled:
        reader.close()


def _waiting_bytes(reader: socket.socket) -> int:
    reader.setblocking(False)
    count = 0
    try:
        while taken := len(reader.recv(1 << 20)):
            count += taken
            time.sleep(0.005)
    except BlockingIOError:
        return count
    return count


def test_it_ends_with_readers_attached_and_leaves_the_port_and_no_thread(
    make_stage: Callable[..., Any], showing: Any
) -> None:
    before = threading.active_count()
    stage = make_stage()
    held = [stage.stream(path) for path in ("/video", "/api/live", "/api/readings", "/video")]
    for _ in range(20):
        stage.show(showing.reading(happiness=0.9))
        time.sleep(0.01)
    assert not stage.view.closed
    began = time.monotonic()
    stage.view.close()
    assert time.monotonic() - began < 5
    assert stage.view.closed
    assert threading.active_count() == before
    again = make_stage(port=stage.port)
    assert again.ask("/api/meta").status == 200
    for reader in held:
        reader.close()
