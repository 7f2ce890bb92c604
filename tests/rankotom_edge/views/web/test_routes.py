"""What each address answers, from the real server."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import cv2
import numpy as np

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
    hello = next(events)
    assert hello["labels"] == list(EMOTIONS)
    assert hello["bins"]
    now = stage.events("/api/live", showing.reading(anger=0.9), name="now")
    assert next(each for each in now if each.get("faces"))["faces"][0]["title"] == "anger"
    timelines = stage.events("/api/live", showing.reading(anger=0.9), name="timeline")
    (lane,) = next(lanes for lanes in timelines if lanes)
    assert lane["runs"][-1][2:] == [[EMOTIONS.index("anger")], False]


def test_the_video_is_pictures_that_a_browser_replaces(stage: Any, showing: Any) -> None:
    with stage.stream("/video") as client:
        client.settimeout(0.05)
        heard = b""

        def pictures() -> bool:
            nonlocal heard
            with suppress(TimeoutError):
                heard += client.recv(1 << 16)
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
    reading = showing.reading(happiness=0.9)
    assert next(stage.events("/api/live", reading, name="hello"))["video"] is False
    events = stage.events("/api/live", reading, name="now")
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
