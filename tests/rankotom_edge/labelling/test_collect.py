from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from calib.errors import RankotomError
from calib.temperature import softmax
from rankotom_edge.frame import Frame
from rankotom_edge.labelling.collect import (
    PICTURE,
    Collector,
    cut_face,
    faces_of_photos,
    faces_of_session,
)
from rankotom_edge.model.artifact import Artifact
from rankotom_edge.model.classifier import Classifier
from rankotom_edge.readings.frame_readings import FrameReadings
from rankotom_edge.recording.session import read_session
from rankotom_edge.sources.demo import demo_picture, load_portrait


def test_a_session_gives_the_same_faces_as_the_live_loop_up_to_its_jpegs(
    fp32: Artifact, frames: list[FrameReadings], recordings: Path
) -> None:
    live = Collector(Classifier(fp32), "run")
    for each in frames:
        live.write(each)
    recorded = faces_of_session(read_session(recordings), Classifier(fp32))
    assert 5 <= len(recorded) <= 65
    assert live.count()[1] == 1  # however many moments
    assert {each.group for each in recorded} == {
        f"{next(recordings.iterdir()).name}/track 1/{start} s" for start in (0, 20, 40, 60)
    }
    for one, other in zip(recorded, live.faces(), strict=True):
        assert np.abs(softmax([one.logits]) - softmax([other.logits])).max() < 0.1


def test_the_logits_are_those_of_the_model_at_its_temperature(
    fp32: Artifact, frames: list[FrameReadings]
) -> None:
    latest = frames[10]
    (reading,) = latest.readings
    face = cut_face(latest.frame.image, reading.face, "track 1", Classifier(fp32))
    np.testing.assert_allclose(softmax([face.logits])[0], reading.raw, atol=1e-5)


def test_the_picture_for_the_person_shows_the_face_upright_in_its_colours(
    fp32: Artifact, frames: list[FrameReadings]
) -> None:
    latest = frames[10]
    face = cut_face(
        latest.frame.image, latest.readings[0].face, "track 1", Classifier(fp32)
    ).picture
    assert face.shape == (PICTURE, PICTURE, 3)
    blue, _, red = face.reshape(-1, 3).mean(axis=0)
    assert red > 1.2 * blue  # skin, in OpenCV's order of colours
    assert face[:60].mean() != pytest.approx(face[-60:].mean(), abs=1)


def test_a_face_for_which_no_confidence_counts_is_left_out(
    fp32: Artifact, frames: list[FrameReadings]
) -> None:
    collector = Collector(Classifier(fp32), "run")
    for each in frames:
        turned = [replace(reading, unreadable="turned away") for reading in each.readings]
        collector.write(replace(each, readings=tuple(turned)))
    assert collector.faces() == []


def test_a_session_without_video_says_how_to_record_one(
    tmp_path: Path,
    fp32: Artifact,
    frames: list[FrameReadings],
    record: Callable[..., Path],
) -> None:
    folder = record(tmp_path, frames[:2], video=False)
    with pytest.raises(RankotomError, match=r"has no video.*--record-video"):
        faces_of_session(read_session(folder), Classifier(fp32))


def write_photos(folder: Path, count: int) -> None:
    portrait = load_portrait()
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        picture = demo_picture(portrait, 2.0 * number, (320, 240))
        assert cv2.imwrite(str(folder / f"{number}.png"), picture)


def test_each_photo_is_a_group_of_its_own_and_copies_count_once(
    tmp_path: Path, fp32: Artifact
) -> None:
    write_photos(tmp_path, 3)
    (tmp_path / "copy.png").write_bytes((tmp_path / "0.png").read_bytes())
    (tmp_path / "broken.jpg").write_bytes(b"not a picture")
    faces = faces_of_photos(tmp_path, Classifier(fp32))
    assert sorted(each.group for each in faces) == ["0.png", "1.png", "2.png"]


def test_photos_of_a_person_in_a_folder_are_one_group(tmp_path: Path, fp32: Artifact) -> None:
    write_photos(tmp_path / "ada", 2)
    for number in range(12):
        (tmp_path / f"person {number}").mkdir()
        (tmp_path / f"person {number}" / "empty.png").write_bytes(b"")
    assert {each.group for each in faces_of_photos(tmp_path, Classifier(fp32))} == {
        "ada/0.png",
        "ada/1.png",
    }


def test_photos_without_a_face_are_an_error_that_says_what_to_give(
    tmp_path: Path, fp32: Artifact
) -> None:
    assert cv2.imwrite(str(tmp_path / "wall.png"), np.full((240, 320, 3), 90, np.uint8))
    with pytest.raises(RankotomError, match=r"no face in .*: 1 photo. Give a folder of photos"):
        faces_of_photos(tmp_path, Classifier(fp32))


def test_a_frame_without_faces_adds_none(fp32: Artifact, frames: list[FrameReadings]) -> None:
    collector = Collector(Classifier(fp32), "run")
    empty = Frame(np.zeros((8, 8, 3), np.uint8), index=0, time=0.0, captured=0.0)
    collector.write(FrameReadings(empty, (), frames[0].latency))
    assert collector.faces() == []
