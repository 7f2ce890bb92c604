"""Faces found in photographs and people numbered in a video are counted with the real detector."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from rankotom_edge.faces.detector import FaceDetector
from rankotom_edge.faces.tracker import Tracker
from rankotom_edge.sources import open_source
from rankotom_edge.sources.demo import load_portrait
from train.experiments.found_faces import print_found, print_people


def test_photographs_with_a_face_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "portrait.png", tmp_path / "wall.png"]
    for file, picture in zip(
        files, (load_portrait(), np.full((200, 200, 3), 128, np.uint8)), strict=True
    ):
        cv2.imwrite(str(file), picture)
    with FaceDetector() as near:
        print_found("these", files, Tracker(near.detect, stills=True))
    assert capsys.readouterr().out.strip() == (
        "these: a face found in 50.0% of 2 photographs (9.5% to 90.5%)"
    )


def test_people_of_a_video_are_numbered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "demo.avi"
    writer: cv2.VideoWriter | None = None
    with open_source("demo") as demo:
        for _ in range(30):
            frame = demo.read(10.0)
            assert frame is not None
            height, width = frame.image.shape[:2]
            writer = writer or cv2.VideoWriter(
                str(path), cv2.VideoWriter.fourcc(*"MJPG"), 30, (width, height)
            )
            writer.write(frame.image)
    assert writer is not None
    writer.release()
    with FaceDetector() as near:
        print_people(path, Tracker(near.detect))
    assert capsys.readouterr().out.startswith("demo.avi: 1 numbered in 30 frames")
