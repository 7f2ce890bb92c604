"""Clips of the demo's portrait, as an archive to read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from rankotom_edge.analyze.read_video import Settings, Task
from rankotom_edge.analyze.videos import Video
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.sources.demo import demo_picture, load_portrait

FPS = 10
SIZE = (320, 240)


def write_clip(path: Path, frames: int, start: float = 0.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    portrait = load_portrait()
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), FPS, SIZE)
    for number in range(frames):
        writer.write(demo_picture(portrait, start + number / FPS, SIZE))
    writer.release()
    return path


def write_nobody(path: Path, frames: int = 10) -> Path:
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), FPS, SIZE)
    for number in range(frames):
        writer.write(np.full((SIZE[1], SIZE[0], 3), 40 + number, np.uint8))
    writer.release()
    return path


@pytest.fixture(scope="session")
def clip_of() -> Callable[..., Path]:
    return write_clip


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty clips in two folders, one without a face, and a file that is no video."""
    folder = tmp_path_factory.mktemp("archive") / "clips"
    for number in range(19):
        day = folder / f"day {number % 2}"
        write_clip(day / f"clip {number}.avi", 12 + number, start=3.0 * number)
    write_nobody(folder / "day 1" / "nobody.avi")
    (folder / "broken.mp4").write_text("no video")
    return folder


@pytest.fixture(scope="session")
def settings(fp32: Artifact) -> Settings:
    return Settings(
        model="ferplus-fp32",
        sha256=fp32.sha256,
        fps=None,
        max_error=None,
        max_error_each=0.5,
        reach="auto",
        provider="cpu",
        format="csv",
    )


@pytest.fixture(scope="session")
def task_of(settings: Settings) -> Callable[[Path], Task]:
    return lambda path: Task(Video.of(path, path.parent), settings)
