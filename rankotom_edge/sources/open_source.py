"""From a name to an open source."""

from __future__ import annotations

import time
from functools import partial

from calib.errors import RankotomError
from rankotom_edge.sources import cameras as devices
from rankotom_edge.sources import capture
from rankotom_edge.sources.demo import DemoReel
from rankotom_edge.sources.files import ImageReel, VideoReel
from rankotom_edge.sources.grammar import Named, parse, without_password
from rankotom_edge.sources.playback import Clock, Reel, ReelSource
from rankotom_edge.sources.reconnecting import LiveSource
from rankotom_edge.sources.source import Source

# What nobody took yet is dropped inside GStreamer too, where it is cheapest.
TO_US = "videoconvert ! video/x-raw, format=BGR ! appsink drop=true max-buffers=1 sync=false"

MOST = 2**31 - 1  # that OpenCV can count


def open_source(named: str, *, paced: bool = False, clock: Clock = time.monotonic) -> Source:
    """``paced``: a file goes at its own pace by ``clock``, else as fast as it is read.

    The first picture is there when this returns; a source without one is a RankotomError.
    """
    found = parse(named)
    capture.quieten()
    match found.kind:
        case "camera":
            return _open_camera(found, clock)
        case "stream":
            return _open_stream(found, clock)
        case "csi" | "pipeline":
            return _open_pipeline(found, clock)
        case "demo" | "video" | "images":
            return ReelSource(_reel(found), paced, clock)


def csi_pipeline(sensor: int) -> str:
    """A Jetson's camera, in the mode that jetson-inference asks for by default."""
    return (
        f"nvarguscamerasrc sensor-id={sensor} ! video/x-raw(memory:NVMM), width=1280, height=720, "
        f"framerate=30/1 ! nvvidconv ! video/x-raw, format=BGRx ! {TO_US}"
    )


def _reel(found: Named) -> Reel:
    if found.kind == "demo":
        return DemoReel()
    if found.kind == "video":
        return VideoReel(found.target, found.name)
    return ImageReel(found.target, found.name)


def _open_camera(found: Named, clock: Clock) -> Source:
    index = int(found.target)
    if index > MOST:
        raise devices.explain(index)
    open_capture = partial(capture.open_camera, index)
    return LiveSource(found.name, open_capture, partial(devices.explain, index), clock)


def _open_stream(found: Named, clock: Clock) -> Source:
    seconds = capture.seconds_to_open(found.target)
    error = RankotomError(
        f"No picture came from {found.name}: nobody sends there, or nothing that can be read "
        f"within {seconds:g} s. Check that it is on and that the address is right, or go on "
        "without it: --source demo"
    )
    open_capture = partial(capture.open_stream, found.target, seconds)
    return LiveSource(found.name, open_capture, lambda: error, clock, patience=seconds)


def _open_pipeline(found: Named, clock: Clock) -> Source:
    if not capture.has_gstreamer():
        raise RankotomError(
            f"{found.name} needs GStreamer, which the OpenCV here is built without (the one from "
            "PyPI always is). On a Jetson use JetPack's own; else give /dev/video0 or demo."
        )
    pipeline = csi_pipeline(int(found.target)) if found.kind == "csi" else found.target
    if "appsink" not in pipeline:
        pipeline = f"{pipeline} ! {TO_US}"
    error = RankotomError(
        f"No picture came through GStreamer: {without_password(pipeline)}\n"
        "Try the pipeline by itself with gst-launch-1.0. To go on without it: --source demo"
    )
    return LiveSource(found.name, partial(capture.open_pipeline, pipeline), lambda: error, clock)
