"""A frame's readings as a line of JSON."""

import json

import numpy as np

from rankotom_edge.frame import Frame
from rankotom_edge.readings.frame_readings import FrameReadings, Latency


def test_a_line_has_frame_time_faces_and_rounded_latency() -> None:
    frame = Frame(np.zeros((4, 4, 3), np.uint8), 7, 1.23456, 0.0)
    line = FrameReadings(frame, (), Latency(None, 1.23456, 9.87654)).as_json()
    assert json.loads(json.dumps(line)) == {
        "frame": 7,
        "time": 1.2346,
        "faces": [],
        "latency_ms": {"detect": None, "classify": 1.235, "total": 9.877},
    }


def test_a_detection_is_timed_where_there_was_one() -> None:
    assert Latency(2.00049, 1.0, 3.0).as_json()["detect"] == 2.0
