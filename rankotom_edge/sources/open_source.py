"""Opens the source that a name stands for."""

import time
from collections.abc import Callable
from functools import partial

from calib.errors import RankotomError
from rankotom_edge.sources import cameras, opencv_capture
from rankotom_edge.sources.demo import DemoClip
from rankotom_edge.sources.image_files import ImageFiles
from rankotom_edge.sources.passwords import hide_password
from rankotom_edge.sources.playback_source import Clip, PlaybackSource
from rankotom_edge.sources.reconnecting_source import LONGEST_DELAY, ReconnectingSource
from rankotom_edge.sources.source import Clock, Source
from rankotom_edge.sources.source_parser import SourceSpec, parse_source
from rankotom_edge.sources.video_file import VideoFile

# Frames that the loop is too slow for are dropped inside GStreamer, where that is cheapest.
PIPELINE_END = "videoconvert ! video/x-raw, format=BGR ! appsink drop=true max-buffers=1 sync=false"

Reconnecting = Callable[..., ReconnectingSource]
LARGEST_INDEX = 2**31 - 1  # that OpenCV accepts


def open_source(
    name: str,
    *,
    paced: bool = False,
    clock: Clock = time.monotonic,
    longest_delay: float = LONGEST_DELAY,
) -> Source:
    """Returns once the first frame is there; RankotomError if none comes.

    ``paced``: play a file at its own pace by ``clock``; otherwise as fast as it is read.
    ``longest_delay``: seconds, before a lost camera is opened again.
    """
    spec = parse_source(name)
    clip = find_clip(spec)
    if clip is not None:
        return PlaybackSource(clip, paced, clock)
    reconnecting = partial(ReconnectingSource, clock=clock, longest_delay=longest_delay)
    if spec.kind == "camera":
        return _open_camera(spec, reconnecting)
    if spec.kind == "stream":
        return _open_stream(spec, reconnecting)
    return _open_pipeline(spec, reconnecting)


def find_clip(spec: SourceSpec, fps: float | None = None) -> Clip | None:
    """What can be played from its start, a video with so many frames a second; None for a camera
    or a stream."""
    opencv_capture.silence_opencv()
    match spec.kind:
        case "demo":
            return DemoClip()
        case "video":
            return VideoFile(spec.target, spec.name, fps)
        case "images":
            return ImageFiles(spec.target, spec.name)
        case _:
            return None


def csi_pipeline(sensor: int) -> str:
    """A Jetson's camera, in jetson-inference's default mode."""
    return (
        f"nvarguscamerasrc sensor-id={sensor} ! video/x-raw(memory:NVMM), width=1280, height=720, "
        f"framerate=30/1 ! nvvidconv ! video/x-raw, format=BGRx ! {PIPELINE_END}"
    )


def _open_camera(spec: SourceSpec, reconnecting: Reconnecting) -> Source:
    index = int(spec.target)
    open_error = partial(cameras.explain_failure, index)
    if index > LARGEST_INDEX:
        raise open_error()
    open_capture = partial(opencv_capture.open_camera, index)
    return reconnecting(spec.name, open_capture, open_error)


def _open_stream(spec: SourceSpec, reconnecting: Reconnecting) -> Source:
    timeout = opencv_capture.open_timeout(spec.target)
    error = RankotomError(
        f"No image came from {spec.name}: nothing is sent there, or nothing that can be decoded "
        f"within {timeout:g} s. Check that the camera is on and the address is right, or go on "
        "without it: --source demo"
    )
    open_capture = partial(opencv_capture.open_stream, spec.target, timeout)
    return reconnecting(spec.name, open_capture, lambda: error, patience=timeout)


def _open_pipeline(spec: SourceSpec, reconnecting: Reconnecting) -> Source:
    if not opencv_capture.has_gstreamer():
        raise RankotomError(
            f"{spec.name} needs GStreamer, which the OpenCV here is built without (the one from "
            "PyPI always is). On a Jetson use JetPack's own; else give /dev/video0 or demo."
        )
    pipeline = csi_pipeline(int(spec.target)) if spec.kind == "csi" else spec.target
    if "appsink" not in pipeline:
        pipeline = f"{pipeline} ! {PIPELINE_END}"
    error = RankotomError(
        f"No image came through GStreamer: {hide_password(pipeline)}\n"
        "Try the pipeline by itself with gst-launch-1.0. To go on without it: --source demo"
    )
    open_capture = partial(opencv_capture.open_pipeline, pipeline)
    return reconnecting(spec.name, open_capture, lambda: error)
