"""A folder with the files that the examples and the documents name, and nothing of the repo."""

from __future__ import annotations

from pathlib import Path

import cv2
import pytest

from rankotom_edge.sources.demo import demo_picture, load_portrait

SIZE = (320, 240)


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    portrait = load_portrait()
    cv2.imwrite(str(tmp_path / "photo.jpg"), portrait)
    clip = str(tmp_path / "party.mp4")
    writer = cv2.VideoWriter(clip, cv2.VideoWriter.fourcc(*"mp4v"), 30, SIZE)
    for number in range(45):
        writer.write(demo_picture(portrait, number / 30, SIZE))
    writer.release()
    return tmp_path
