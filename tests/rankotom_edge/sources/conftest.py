"""A clip to play, and a check that a test leaves no thread and no file open."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

FPS = 20


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seconds that grow lighter."""
    path = tmp_path_factory.mktemp("clip") / "clip.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), FPS, (160, 120))
    for number in range(2 * FPS):
        writer.write(np.full((120, 160, 3), 6 * number, dtype=np.uint8))
    writer.release()
    return path


@pytest.fixture
def nothing_leaks() -> Iterator[None]:
    threads, handles = threading.active_count(), len(os.listdir("/proc/self/fd"))
    yield
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) == handles
